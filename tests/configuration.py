"""Loads a configuration from text, and lists what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from onevoice.errors import ConfigurationError
from onevoice.settings import Settings, load_settings

PLANTED = "planted-secret-c0ffee"
WHATSAPP = """
[[channels]]
name = "loja"
kind = "whatsapp"
phone_number_id = "100000000000001"
access_token = "token"
app_secret = "secret"
verify_token = "verify"
"""


def load(tmp_path: Path, text: str, environ: dict[str, str] | None = None) -> Settings:
    file = tmp_path / "onevoice.toml"
    file.write_text(text, encoding="utf-8")
    return load_settings(file, environ or {})


def faults(tmp_path: Path, text: str, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, text, environ)
    assert PLANTED not in str(caught.value)
    assert all("\n" not in fault for fault in caught.value.faults)
    return caught.value.faults
