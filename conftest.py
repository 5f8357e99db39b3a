"""Loads the suite's hygiene for every test folder; fixtures live in tests/conftest.py."""

pytest_plugins = ["tests.hygiene", "tests.progress", "tests.proof"]
