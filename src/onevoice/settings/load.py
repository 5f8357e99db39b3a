"""Read the configuration: the file, the environment over it, ``"env:NAME"`` inside it, all faults at once."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from onevoice.errors import ConfigurationError
from onevoice.settings.faults import Fault, faults_of, kind_at, line
from onevoice.settings.forms import nearest
from onevoice.settings.keys import (
    Location,
    all_keys,
    annotation_of,
    is_list_of_tables,
    item_annotation,
    model_at,
    tables,
    takes_text,
    written,
)
from onevoice.settings.root import Settings, list_faults

DEFAULT_FILE = Path("onevoice.toml")
_FILE_BYTES_MAX = 1_000_000
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def load_settings(
    path: Path | None, environ: Mapping[str, str], *, built_in: Mapping[str, object] | None = None
) -> Settings:
    """The effective settings; raises ``ConfigurationError`` with one line per fault.

    Without ``path``, ``built_in`` stands for the file; without both, ``onevoice.toml`` in the working
    directory is read if it is there.
    """
    given = path
    if given is None and built_in is None and DEFAULT_FILE.exists():
        given = DEFAULT_FILE
    raw = _read(given) if given is not None else dict(built_in or {})
    reading = _Reading(raw, environ)
    reading.override_from_environment()
    reading.resolve_references()
    settings = reading.validated()
    folder = given.absolute().parent if given is not None else Path.cwd()
    return settings.located_in(folder)


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(_FILE_BYTES_MAX + 1)
        if len(content) > _FILE_BYTES_MAX:
            raise ConfigurationError(
                [f"{path}: is larger than a megabyte; give the path of an onevoice.toml"]
            )
        return tomllib.loads(content.decode("utf-8-sig"))
    except FileNotFoundError:
        raise ConfigurationError([f"{path}: no such file; give the path of an onevoice.toml"]) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigurationError(
            [f"{path}: cannot be read ({reason}); check the path and its rights"]
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigurationError([f"{path}: is not UTF-8 at byte {error.start}; save it as UTF-8"]) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError([f"{path}: {_syntax_fault(str(error))}"]) from None
    except RecursionError:
        raise ConfigurationError([f"{path}: is nested too deep; sections are one level deep"]) from None


def _syntax_fault(message: str) -> str:
    """tomllib's message, with the place in front; what it quotes is a character or a key, never a value."""
    found = re.fullmatch(r"(.*) \(at (line \d+, column \d+|end of document)\)", message, re.DOTALL)
    what, where = (found[1], found[2]) if found else (message, "somewhere")
    return f"is no TOML at {where}: {' '.join(what.split())}; see onevoice.example.toml for the form"


class _Reading:
    """One attempt to read a configuration; collects faults as it goes."""

    def __init__(self, raw: dict[str, Any], environ: Mapping[str, str]) -> None:
        self._raw = copy.deepcopy(raw)
        self._environ = environ
        self._faults: list[Fault] = []
        self._unread: list[Fault] = []
        self._dropped: set[Location] = set()
        self._variable_of: dict[Location, str] = {}

    def override_from_environment(self) -> None:
        """Each ``ONEVOICE_SECTION__KEY`` replaces the file's value."""
        known = {f"ONEVOICE_{key.replace('.', '__')}".upper(): key for key in all_keys()}
        for variable in sorted(self._environ):
            if not variable.startswith("ONEVOICE_") or "__" not in variable:
                continue
            if variable not in known:
                self._faults.append((written((variable,)), _unknown_variable(variable, list(known))))
                continue
            section, key = known[variable].split(".")
            self._override(section, key, variable)

    def _override(self, section: str, key: str, variable: str) -> None:
        table = self._raw.setdefault(section, {})
        if not isinstance(table, dict):
            return
        self._variable_of[(section, key)] = variable
        annotation = annotation_of(tables()[section].model_fields[key])
        text = self._environ[variable]
        value = (
            text if takes_text(annotation) or text.startswith("env:") else self._typed(text, (section, key))
        )
        cast("dict[str, Any]", table)[key] = value
        if value is None:
            del table[key]

    def resolve_references(self) -> None:
        """Each ``"env:NAME"`` becomes what the environment holds under that name."""
        self._raw = cast("dict[str, Any]", self._resolved(self._raw, ()))

    def _resolved(self, value: object, location: Location) -> object:
        if isinstance(value, dict):
            entries = (
                (k, self._resolved(v, (*location, k))) for k, v in cast("dict[str, object]", value).items()
            )
            return {key: entry for key, entry in entries if (*location, key) not in self._dropped}
        if isinstance(value, list):
            items = cast("list[object]", value)
            return [self._resolved(item, (*location, index)) for index, item in enumerate(items)]
        if isinstance(value, str) and value.startswith("env:"):
            return self._from_environment(value.removeprefix("env:"), location)
        return value

    def _from_environment(self, name: str, location: Location) -> object:
        if not _VARIABLE.fullmatch(name):
            return self._drop(location, 'is no reference to the environment; write "env:NAME"')
        if name not in self._environ:
            return self._drop(location, f"the environment has no {name}; set it, or write the value here")
        text = self._environ[name]
        annotation = self._annotation_at(location)
        return text if annotation is None or takes_text(annotation) else self._typed(text, location)

    def _annotation_at(self, location: Location) -> Any:
        inside_list = isinstance(location[-1], int)
        key = location[:-1] if inside_list else location
        if not key or not isinstance(key[-1], str):
            return None
        model = model_at(key[:-1], kind_at(key, self._raw))
        field = model.model_fields.get(key[-1]) if model else None
        if field is None:
            return None
        annotation = annotation_of(field)
        return item_annotation(annotation) if inside_list else annotation

    def _typed(self, text: str, location: Location) -> object:
        """A number, a switch or a list, written as TOML writes it."""
        try:
            parsed = tomllib.loads(f"value = {text.strip()}")
        except (tomllib.TOMLDecodeError, RecursionError):
            parsed = {}
        if list(parsed) != ["value"]:
            return self._drop(
                location, "is no number, true, false or list; write it as in TOML, such as 1.5 or [1, 2]"
            )
        return parsed["value"]

    def _drop(self, location: Location, text: str) -> None:
        self._unread.append((location, text))
        self._dropped.add(location)

    def validated(self) -> Settings:
        settings = None
        try:
            settings = Settings.model_validate(self._raw)
        except ValidationError as error:
            self._faults.extend(faults_of(error, self._raw))
            self._faults.extend(self._faults_between_keys(error))
        self._faults.extend(list_faults(self._raw.get("channels"), self._raw.get("policies")))
        lines = self._lines()
        if settings is None or lines:
            raise ConfigurationError(lines)
        return settings

    def _faults_between_keys(self, error: ValidationError) -> list[Fault]:
        """The rules between a section's keys, which pydantic leaves out while one of the keys is wrong."""
        wrong = {
            (details["loc"][0], details["loc"][1]) for details in error.errors() if len(details["loc"]) > 1
        }
        found: list[Fault] = []
        for section in {str(name) for name, _ in wrong} & set(tables()):
            table = cast("dict[str, Any]", self._raw[section])
            rest = {section: {key: value for key, value in table.items() if (section, key) not in wrong}}
            try:
                Settings.model_validate(rest)
            except ValidationError as second:
                found.extend(faults_of(second, rest))
        return found

    def _lines(self) -> list[str]:
        """Each fault once; one about a value from an environment variable names the variable."""
        lines: dict[str, None] = {}
        for where, text in [
            *self._unread,
            *(fault for fault in self._faults if fault[0] not in self._dropped),
        ]:
            variable = self._variable_of.get(where[:2]) if isinstance(where, tuple) else None
            wrong, separator, right = text.partition("; ")
            origin = f" (from {variable})" if variable else ""
            lines[line(where, f"{wrong}{origin}{separator}{right}")] = None
        return list(lines)


def _unknown_variable(variable: str, known: list[str]) -> str:
    name = variable.removeprefix("ONEVOICE_").partition("__")[0].lower()
    if is_list_of_tables(name):
        return f'no such variable; [[{name}]] is set in the file, where a value may be "env:NAME"'
    return f"no such variable; did you mean {nearest(variable, known)}?"
