"""The written half of the project: words, decisions and links agree with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.architecture.project import PACKAGE, ROOT, shown, tracked_files

_PAGES = [path for path in tracked_files() if path.suffix == ".md"]
_DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
_SECTIONS = ["Context", "Decision", "Rejected", "Consequences", "How we will know it was wrong"]
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def _slug(heading: str) -> str:
    kept = re.sub(r"[^\w\s-]", "", heading.strip().lower())
    return re.sub(r"\s", "-", kept)


def _anchors(page: Path) -> set[str]:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {_slug(match[1]) for match in re.finditer(r"^#+ (.+)$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", _PAGES, ids=shown)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link names a file, and every anchor a heading in it."""
    broken: list[str] = []
    for match in _LINK.finditer(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        link = match[1] or match[2]
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name) if name else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)

    assert broken == []


def test_every_glossary_word_is_a_word_of_the_code() -> None:
    """The same word in code, table, metric and screen: each stands in the vocabulary or the schema."""
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| \*\*([a-z ]+)\*\* \|", glossary, re.MULTILINE)
    code = "\n".join(
        path.read_text(encoding="utf-8").lower()
        for path in [PACKAGE / "vocabulary.py", *(PACKAGE / "store" / "migrations").glob("*.sql")]
    )

    missing = [word for word in words if not re.search(rf"(\b|_){word.replace(' ', '[_ ]?')}", code)]

    assert len(words) >= 16
    assert missing == []


@pytest.mark.parametrize("page", _DECISIONS, ids=shown)
def test_a_decision_has_its_five_sections(page: Path) -> None:
    """One page: context, decision, rejected options, consequences, and what would prove it wrong."""
    text = page.read_text(encoding="utf-8")

    assert re.fullmatch(r"\d{4}(-[a-z0-9]+){2,}", page.stem)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == _SECTIONS
    assert len(text.splitlines()) <= 70


def test_decisions_are_numbered_without_a_gap() -> None:
    """A number names one decision for ever."""
    assert [page.stem[:4] for page in _DECISIONS] == [
        f"{number:04d}" for number in range(1, len(_DECISIONS) + 1)
    ]
    assert _DECISIONS


def test_the_index_lists_every_page() -> None:
    """A page that nobody can find is not written."""
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [path for path in _PAGES if path.is_relative_to(ROOT / "docs") and path.name != "README.md"]

    missing = [shown(path) for path in pages if path.relative_to(ROOT / "docs").as_posix() not in index]

    assert missing == []


def test_the_readme_names_the_commands() -> None:
    """Every `make` target the documents name exists, and the two that matter are named."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    named = {
        match[1]
        for page in pages
        for match in re.finditer(r"(?:`|^ *)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    }

    assert {"demo", "test"} <= named
    assert named <= targets


def test_the_makefile_names_only_what_exists() -> None:
    """A target whose script or folder is missing fails only when somebody needs it."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"\b((?:scripts|tests)/[\w./]+)", re.sub(r"\$\(wildcard [^)]*\)", "", makefile)))
    modules = set(re.findall(r"-m ([\w.]+)", makefile))

    missing = [name for name in sorted(named) if not (ROOT / name).exists()]
    missing += [name for name in sorted(modules) if not _is_module(name)]

    assert missing == []


def _is_module(name: str) -> bool:
    """Whether ``python -m name`` finds something, from the root or from src."""
    path = name.replace(".", "/")
    return any(
        (folder / candidate).is_file()
        for folder in (ROOT, ROOT / "src")
        for candidate in (f"{path}.py", f"{path}/__main__.py")
    )
