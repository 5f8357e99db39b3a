"""The settings reference and the example file say what the code does."""

from __future__ import annotations

import tomllib
from pathlib import Path

from onevoice.settings import Settings, load_settings
from onevoice.settings.keys import tables
from onevoice.settings.reference import example, reference
from tests.architecture.project import ROOT

_DOCS = ROOT / "docs" / "settings.md"
_EXAMPLE = ROOT / "onevoice.example.toml"
_SECRETS = {
    "WHATSAPP_ACCESS_TOKEN": "token",
    "WHATSAPP_APP_SECRET": "secret",
    "WHATSAPP_VERIFY_TOKEN": "verify",
}


def test_the_reference_is_the_generated_one() -> None:
    """`python -m onevoice.settings.reference > docs/settings.md` after a change of the settings."""
    assert _DOCS.read_text(encoding="utf-8") == reference()


def test_the_example_is_the_generated_one() -> None:
    """`python -m onevoice.settings.reference example > onevoice.example.toml` after a change."""
    assert _EXAMPLE.read_text(encoding="utf-8") == example()


def test_the_example_loads_and_changes_nothing() -> None:
    """It lists every key, and each value is the default."""
    settings = load_settings(_EXAMPLE, {})

    assert settings.model_dump() == Settings().model_dump()
    written = tomllib.loads(_EXAMPLE.read_text(encoding="utf-8"))
    assert {name: set(table) for name, table in written.items()} == {
        name: set(model.model_fields) for name, model in tables().items()
    }


def test_the_example_loads_with_its_commented_entries(tmp_path: Path) -> None:
    """The channel and the policy it shows as comments are complete."""
    lines = _EXAMPLE.read_text(encoding="utf-8").splitlines()
    entries = lines[lines.index("# [[channels]]") :]
    file = tmp_path / "onevoice.toml"
    file.write_text("\n".join(line.removeprefix("# ") for line in entries), encoding="utf-8")

    settings = load_settings(file, _SECRETS)

    assert [channel.name for channel in settings.channels] == ["loja"]
    assert [policy.name for policy in settings.policies] == ["contracts"]


def test_every_key_is_described() -> None:
    """A key without a description would be an empty cell of the reference."""
    for name, model in tables().items():
        for key, field in model.model_fields.items():
            assert field.description, f"{name}.{key} has no description"
