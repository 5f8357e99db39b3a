"""What the image and the compose files promise, read from their text: no engine runs here."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from onevoice.settings import Settings
from tests.architecture.project import ROOT

_COMPOSE = ["compose.yaml", "compose.postgres.yaml"]
_SECRET = re.compile(r"(password|secret|token|key)", re.IGNORECASE)
_INSTRUCTION = re.compile(r"^([A-Z]+) +(.+)$")


def _dockerfile() -> list[tuple[str, str]]:
    """Its instructions, continued lines joined."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    matches = [_INSTRUCTION.match(line) for line in lines]
    assert all(matches), "every line is an instruction"
    return [(match[1], match[2]) for match in matches if match is not None]


def _values(instruction: str) -> list[str]:
    return [value for name, value in _dockerfile() if name == instruction]


def _final_stage() -> list[tuple[str, str]]:
    instructions = _dockerfile()
    start = max(place for place, (name, _) in enumerate(instructions) if name == "FROM")
    return instructions[start:]


def _compose(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def _services(name: str) -> dict[str, dict[str, Any]]:
    return _compose(name)["services"]


def _seconds(written: str) -> int:
    match = re.fullmatch(r"(\d+)s", written)
    assert match is not None, written
    return int(match[1])


def test_the_base_image_is_pinned_by_version() -> None:
    """The same file builds the same image next year; both stages run the same Python."""
    bases = {value.partition(" ")[0] for value in _values("FROM")}

    assert len(bases) == 1
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", bases.pop())


def test_packages_are_installed_by_hash_alone() -> None:
    """No package comes in that requirements.txt does not name."""
    installs = [value for value in _values("RUN") if "pip install" in value]

    assert installs
    assert all("--require-hashes" in value or "--no-deps" in value for value in installs)
    assert not any("apt" in value or "curl" in value or "--index" in value for value in _values("RUN"))
    assert not _values("ADD")


def test_the_process_is_not_root_and_its_data_are_its_own() -> None:
    """A numbered user, a private folder for the data, and a volume over it."""
    final = dict(_final_stage())

    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", final["USER"])
    user = final["USER"].partition(":")[0]
    assert f"--uid {user} " in final["RUN"]
    assert "--mode 0700 /data" in final["RUN"]
    assert final["VOLUME"] == "/data"
    assert "ONEVOICE_DATABASE__DATA_DIR=/data" in final["ENV"]


def test_the_image_holds_no_secret() -> None:
    """No instruction sets one, and the context lets in only what is built from."""
    for name, value in _dockerfile():
        assert not (name in {"ENV", "ARG"} and _SECRET.search(value)), value
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = {line[1:] for line in ignored if line.startswith("!")}
    copied = {
        source for value in _values("COPY") if not value.startswith("--from") for source in value.split()[:-1]
    }

    assert "*" in ignored
    assert allowed == copied
    assert all((ROOT / name).exists() for name in allowed)


def test_the_image_builds_from_files_that_exist() -> None:
    """What pyproject.toml names for the package is let into the build."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8")

    for name in [project["readme"], *project["license-files"]]:
        assert f"!{name}\n" in allowed


def test_it_is_stopped_by_sigterm_and_asked_whether_it_is_ready() -> None:
    """The engine stops it as `serve` wants it, and asks the probe that looks at the database."""
    final = dict(_final_stage())

    assert final["STOPSIGNAL"] == "SIGTERM"
    assert "/readyz" in final["HEALTHCHECK"]
    assert final["ENTRYPOINT"] == '["onevoice"]'
    port = final["EXPOSE"]
    assert f'"--port", "{port}"' in final["CMD"]
    assert f":{port}/readyz" in final["HEALTHCHECK"]


@pytest.mark.parametrize("name", _COMPOSE)
def test_ports_are_open_to_this_machine_alone(name: str) -> None:
    """Nothing listens on a public address by default; the database on none."""
    for service, content in _services(name).items():
        ports = content.get("ports", [])
        assert all(port.startswith("127.0.0.1:") for port in ports), service
        assert bool(ports) == (service == "app")


@pytest.mark.parametrize("name", _COMPOSE)
def test_images_of_others_are_pinned_and_ours_has_the_version(name: str) -> None:
    """`latest` is another image tomorrow."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    for service, content in _services(name).items():
        if service == "app":
            assert content["image"] == f"onevoice:{version}"
            assert content["build"] == "."
        else:
            assert re.fullmatch(r"[\w/]+:\d+\.\d+-\w+", content["image"])


@pytest.mark.parametrize("name", _COMPOSE)
def test_no_secret_is_written_down(name: str) -> None:
    """A password is a variable that must be set."""
    for content in _services(name).values():
        for key, value in content.get("environment", {}).items():
            if _SECRET.search(key) or "://" in value:
                assert "${POSTGRES_PASSWORD:?" in value


@pytest.mark.parametrize("name", _COMPOSE)
def test_data_survive_the_container(name: str) -> None:
    """Each named volume is declared and used; the configuration is read-only."""
    services, declared = _services(name), set(_compose(name)["volumes"])
    mounted = [volume for content in services.values() for volume in content["volumes"]]

    assert {volume.partition(":")[0] for volume in mounted if not volume.startswith(".")} == declared
    assert "data:/data" in services["app"]["volumes"]
    assert [volume for volume in mounted if volume.startswith(".")] == [
        "./onevoice.toml:/etc/onevoice/onevoice.toml:ro"
    ]


@pytest.mark.parametrize("name", _COMPOSE)
def test_it_is_given_time_to_drain_and_no_rights(name: str) -> None:
    """The engine waits longer than the server drains; the process gains nothing it was not given."""
    app = _services(name)["app"]

    assert _seconds(app["stop_grace_period"]) > Settings().server.drain_seconds * 2
    assert app["read_only"] is True
    assert app["cap_drop"] == ["ALL"]
    assert app["security_opt"] == ["no-new-privileges:true"]
    assert app["restart"] == "unless-stopped"
    assert "privileged" not in app


def test_the_app_waits_for_its_database() -> None:
    """It is started once the database answers, and finds it by its service's name."""
    services = _services("compose.postgres.yaml")

    assert services["app"]["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert "pg_isready" in services["database"]["healthcheck"]["test"]
    assert "@database:5432/" in services["app"]["environment"]["ONEVOICE_DATABASE__URL"]


def test_the_commands_of_the_guide_name_files_that_exist() -> None:
    """`docker compose --file …` in the documentation names a compose file of ours."""
    guide = Path(ROOT / "docs" / "operate.md").read_text(encoding="utf-8")
    named = re.findall(r"--file (\S+)", guide)

    assert set(named) <= set(_COMPOSE)
    assert named
