"""What a configuration names as ``"module:attribute"``: imported, or a line saying what would be right."""

from __future__ import annotations

import importlib
import sys
import traceback
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

from onevoice.errors import ConfigurationError

# The extras of onevoice, by the module somebody missed.
_EXTRAS = {
    "agents": "openai-agents",
    "google": "adk",
    "google.adk": "adk",
    "google.genai": "adk",
    "langgraph": "langgraph",
    "pydantic_ai": "pydantic-ai",
}


def import_attribute(key: str, use: str, folder: Path, *, wanted: str) -> object:
    """Import ``use`` with ``folder`` first on the path; raises ``ConfigurationError`` with one line that names ``key``.

    ``wanted`` says what the attribute should be, for whoever has not written it yet.
    """
    module_name, colon, attribute = use.partition(":")
    if not (colon and all(part.isidentifier() for part in f"{module_name}.{attribute}".split("."))):
        raise attribute_fault(
            key, use, "is no reference", 'write "module:attribute", for example "bot:answer"'
        )
    return _find(key, use, _import(key, use, module_name, folder), attribute, wanted)


def attribute_fault(key: str, use: str, found: str, right: str) -> ConfigurationError:
    """What ``key`` names is not what it should be."""
    return ConfigurationError([f'{key}: "{use}" {found}; {right}'])


def _import(key: str, use: str, module_name: str, folder: Path) -> ModuleType:
    first = str(folder.resolve())
    if first not in sys.path[:1]:
        sys.path.insert(0, first)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module_name}.".startswith(f"{error.name}."):
            expected = Path(first, *module_name.split(".")).with_suffix(".py")
            raise attribute_fault(
                key,
                use,
                f'names a module "{error.name}" that is not there',
                f"write {expected} or correct the name",
            ) from None
        extra = _EXTRAS.get(".".join((error.name or "").split(".")[:2]))
        install = f'pip install "onevoice[{extra}]"' if extra else "install it beside onevoice"
        raise attribute_fault(
            key, use, f'imports "{error.name}", which is not installed', f"{install} ({_place(error)})"
        ) from error
    except Exception as error:
        what = type(error).__name__
        raise attribute_fault(
            key, use, f"cannot be imported: {what} at {_place(error)}", "mend that line"
        ) from error


def _find(key: str, use: str, module: ModuleType, attribute: str, wanted: str) -> object:
    found: object = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            names = [name for name in dir(found) if not name.startswith("_")]
            near = get_close_matches(part, names, n=1)
            meant = f'did you mean "{near[0]}"?' if near else f"define it as {wanted}"
            raise attribute_fault(
                key, use, f'finds no "{part}" in {module.__file__ or module.__name__}', meant
            )
        found = getattr(found, part)
    return found


def _place(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{error.filename}:{error.lineno}"
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename
    ]
    return f"{frames[-1].filename}:{frames[-1].lineno}"
