"""The Markdown that models write, as the formatting WhatsApp understands; code stays as it is.

WhatsApp knows ``*bold*``, ``_italic_``, ``~strike~``, backticks, quotes and lists. Headings, ``**bold**`` and
links would show their signs. Tables are left alone. Formatting twice changes nothing more.
"""

from __future__ import annotations

import re

_CODE_SPAN = re.compile(r"(`[^`\n]+`)")
_LINK = re.compile(
    r"""!?\[(?P<label>[^\[\]\n]+)\]
        \([ ]?<?(?P<address>[^()\s<>]+(?:\([^()\s]*\)[^()\s<>]*)?)>?(?:[ ]+"[^"\n]*")?[ ]?\)""",
    re.VERBOSE,
)
_BOLD_ITALIC = re.compile(r"(?<!\*)\*\*\*(?=[^\s*])([^*\n]+)(?<=\S)\*\*\*(?!\*)")
_BOLD = re.compile(r"(?<!\*)\*\*(?=[^\s*])([^*\n]+)(?<=\S)\*\*(?!\*)")
_STRIKE = re.compile(r"(?<!~)~~(?=[^\s~])([^~\n]+)(?<=\S)~~(?!~)")
_STARRED = re.compile(r"\*(?=\S)([^*\n]+)(?<=\S)\*")
_HEADING_LEVEL_MAX = 6


def format_text(text: str) -> str:
    """The text with its Markdown turned into WhatsApp's formatting.

    >>> format_text("## Prazo\\n**Quinta**, veja [o site](https://example.com)")
    '*Prazo*\\n*Quinta*, veja o site (https://example.com)'
    """
    lines: list[str] = []
    inside_fence = False
    for line in text.split("\n"):
        is_fence = line.lstrip().startswith("```")
        lines.append(line if is_fence or inside_fence else _format_line(line))
        # A fence that opens and closes on one line leaves the state as it was.
        if is_fence and line.count("```") % 2:
            inside_fence = not inside_fence
    return "\n".join(lines)


def _format_line(line: str) -> str:
    title = _heading_title(line)
    if title is not None:
        plain = _STARRED.sub(r"\1", _format_spans(title))
        return f"*{plain}*" if plain else line
    return _format_spans(line)


def _format_spans(line: str) -> str:
    # Splitting on a group keeps the code spans, at the odd places.
    pieces = _CODE_SPAN.split(line)
    return "".join(piece if index % 2 else _format_words(piece) for index, piece in enumerate(pieces))


def _format_words(words: str) -> str:
    linked = _LINK.sub(_spell_out_link, words)
    bold = _BOLD.sub(r"*\1*", _BOLD_ITALIC.sub(r"*_\1_*", linked))
    return _STRIKE.sub(r"~\1~", bold)


def _spell_out_link(match: re.Match[str]) -> str:
    label, address = match["label"], match["address"]
    return address if label in {address, address.removeprefix("mailto:")} else f"{label} ({address})"


def _heading_title(line: str) -> str | None:
    signs = line.lstrip(" ")
    title = signs.lstrip("#")
    level = len(signs) - len(title)
    if not 1 <= level <= _HEADING_LEVEL_MAX or not title.startswith((" ", "\t")):
        return None
    title = title.strip()
    unclosed = title.rstrip("#")
    return unclosed.rstrip() if unclosed.endswith((" ", "\t")) else title
