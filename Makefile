# Every command a person or the pipeline needs. `make` alone prints them.

PYTHON ?= python3
# One more than a small machine has cores: many tests wait for real time to pass.
JOBS ?= 3
PROVE_JOBS ?= 2
BIN := .venv/bin
PROOF := tests/interleave tests/fuzz tests/prove
SOURCES := src tests $(wildcard bench examples)
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
export PYTHON
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev demo test proof test-quick test-server check fmt lint types arch coverage schema bench prove lock clean

help: ## Print this list.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{printf "make %-12s %s\n", $$1, $$2}'

setup: ## Build .venv/bin/onevoice from the hash-pinned requirements; at once when nothing changed.
	@scripts/set_up.sh requirements.txt

setup-dev: setup
	@scripts/set_up.sh requirements-dev.txt

demo: setup ## Run it: embedded PostgreSQL, webchat, console and an offline demo agent. Ctrl-C stops it.
	@exec $(BIN)/onevoice demo

test: setup-dev ## Run all tests, the short proof among them (JOBS=3 processes); writes build/proof.json.
	$(BIN)/pytest -n $(JOBS) --dist worksteal

proof: setup-dev ## The short proof alone: schedules, crash points, mutants, faults and fuzzing; writes build/proof.json.
	$(BIN)/pytest -n $(JOBS) --dist worksteal $(PROOF)

test-quick: setup-dev ## Run the tests that need no database, in seconds.
	$(BIN)/pytest tests/decide tests/architecture

test-server: setup-dev ## Run the database tests again on the server at ONEVOICE_TEST_DATABASE_URL (a superuser's, 15 or newer).
	@test -n "$$ONEVOICE_TEST_DATABASE_URL" || { echo "set ONEVOICE_TEST_DATABASE_URL to a superuser's address"; exit 1; }
	$(BIN)/pytest -n $(JOBS) $(wildcard tests/store tests/migrations tests/perform)

check: lint types arch test ## Everything the pipeline checks: lint, types, architecture, tests.

fmt: setup-dev ## Format the code and mend what lint can mend.
	$(BIN)/ruff check --quiet --fix-only $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

lint: setup-dev ## Lint, format, spelling and unused dependencies.
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/codespell
	$(BIN)/deptry src

types: setup-dev ## Strict types.
	$(BIN)/basedpyright

arch: setup-dev ## Who may import whom, sizes, names, links.
	$(BIN)/lint-imports
	$(BIN)/pytest tests/architecture

coverage: setup-dev ## Run all tests and print the lines and branches that none of them reached.
	$(BIN)/pytest -n $(JOBS) --cov --cov-report=term

schema: setup-dev ## Write the schema's map anew from the migrations.
	$(BIN)/python -m onevoice.store.schema_dump

bench: setup-dev ## Measure it: medians of several short runs, beside the machine's own limits.
	$(BIN)/python -m bench

prove: setup-dev ## The long proof: hours of schedules, crashes and faults (PROVE_JOBS=2); writes build/proof.json.
	ONEVOICE_PROVE=1 $(BIN)/pytest -n $(PROVE_JOBS) --dist worksteal --timeout 0 $(PROOF)
	@$(BIN)/uv pip install --quiet atheris || echo "atheris cannot be installed here"
	$(BIN)/python -m tests.fuzz.coverage_guided

lock: setup-dev ## Pin every dependency anew after a change in pyproject.toml (UPGRADE=--upgrade takes newer ones).
	$(LOCK) $(UPGRADE) --group build pyproject.toml --output-file requirements.txt
	$(LOCK) $(UPGRADE) --group build --group dev pyproject.toml --constraint requirements.txt --output-file requirements-dev.txt

clean: ## Remove what setup, tests and demo made here (not your data under .onevoice).
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage* build dist
