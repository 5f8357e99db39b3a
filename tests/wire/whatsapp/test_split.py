"""Formatting for WhatsApp, and the parts of a long answer."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onevoice.adapters.channels.whatsapp.format import format_text
from onevoice.adapters.channels.whatsapp.split import PART_UNITS_MAX, split_text


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _inked(text: str) -> str:
    """The text without its white space."""
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize(
    ("markdown", "formatted"),
    [
        ("**Quinta** às **10h**", "*Quinta* às *10h*"),
        ("***muito***", "*_muito_*"),
        ("~~10~~ 8", "~10~ 8"),
        ("# Título", "*Título*"),
        ("### Título ###", "*Título*"),
        ("## **Prazo** e _valor_", "*Prazo e _valor_*"),
        ("# 2 * 3", "*2 * 3*"),
        ("#1 da lista", "#1 da lista"),
        ("####### sete", "####### sete"),
        ("#", "#"),
        ("[site](https://example.com/a_(b))", "site (https://example.com/a_(b))"),
        ("[site](https://example.com 'x')", "[site](https://example.com 'x')"),
        ('[site](https://example.com "dica")', "site (https://example.com)"),
        ("[https://example.com](https://example.com)", "https://example.com"),
        ("![capa](https://example.com/f.png)", "capa (https://example.com/f.png)"),
        ("**[site](https://example.com)**", "*site (https://example.com)*"),
        ("- um\n* dois\n> citado", "- um\n* dois\n> citado"),
        ("*já é negrito* e _itálico_", "*já é negrito* e _itálico_"),
        ("2 ** 3 ** 4", "2 ** 3 ** 4"),
        ("| a | **b** |\n|---|---|", "| a | *b* |\n|---|---|"),
        ("use `**x**` e **y**", "use `**x**` e *y*"),
        ("```\n# a **b**\n```\n**c**", "```\n# a **b**\n```\n*c*"),
        ("```python\n[a](b)\n", "```python\n[a](b)\n"),
        ("```x``` **y**\n**z**", "```x``` **y**\n*z*"),
        ("", ""),
    ],
)
def test_markdown_becomes_whatsapp_formatting(markdown: str, formatted: str) -> None:
    """Signs that WhatsApp would show are turned into those it understands; code is left alone."""
    assert format_text(markdown) == formatted
    assert format_text(formatted) == formatted


@pytest.mark.parametrize("sign", ["**a", "[a", "[a](", "~~", "`", "*", "#", "[]()", "** ", "![", "***"])
def test_formatting_takes_linear_time(sign: str) -> None:
    """Unclosed signs by the thousand do not hang the process (the test's time limit would tell)."""
    assert format_text(sign * 50_000)


def test_a_short_text_is_one_part() -> None:
    """The limit itself still fits."""
    assert split_text("  oi\n") == ["oi"]
    assert split_text("a" * PART_UNITS_MAX) == ["a" * PART_UNITS_MAX]
    assert split_text("**oi**") == ["*oi*"]


@pytest.mark.parametrize("blank", ["", " ", "\n\n", "\t \u00a0\u2003"])
def test_a_blank_text_has_no_parts(blank: str) -> None:
    """Nothing is sent for nothing."""
    assert split_text(blank) == []


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("aaaa bbbb\n\ncccc dddd", ["aaaa bbbb", "cccc dddd"]),
        ("aaaa bbbb\ncccc dddd", ["aaaa bbbb", "cccc dddd"]),
        ("aa. bb cccc dddd", ["aa.", "bb cccc dddd"]),
        ("aaaa bbbb cccc", ["aaaa bbbb", "cccc"]),
        ("aaaaaaaaaaaaaaa", ["aaaaaaaaaaaa", "aaa"]),
        ("aaaaaaaaaaaa bbb", ["aaaaaaaaaaaa", "bbb"]),
        ("aaaaaaaaaaaa\n\nbbb", ["aaaaaaaaaaaa", "bbb"]),
        ("a\n\nbbbbbb ccccccc", ["a\n\nbbbbbb", "ccccccc"]),
        ("a bbbbbbbbbbbbbbb", ["a", "bbbbbbbbbbbb", "bbb"]),
        ("aaaaaa\u00a0bbbbbbbbb", ["aaaaaa\u00a0bbbbb", "bbbb"]),
        ('aa "bb." cccc dd', ['aa "bb."', "cccc dd"]),
    ],
)
def test_a_cut_falls_where_a_reader_pauses(text: str, parts: list[str]) -> None:
    """Paragraph, then line, then sentence, then word, then anywhere; never a tiny part for a better pause."""
    assert split_text(text, 12) == parts


@pytest.mark.parametrize(
    "cluster",
    ["é", "👨\u200d👩\u200d👧", "👍🏽", "🇧🇷", "❤️", "1️⃣", "🏴\U000e0067\U000e0062\U000e007f", "n\u0303\u0323"],
)
def test_a_hard_cut_leaves_what_reads_as_one_character_whole(cluster: str) -> None:
    """No family, flag or accent is taken apart."""
    for units_max in range(9, 18):
        parts = split_text(cluster * 50, units_max)
        assert all(part == cluster * (len(part) // len(cluster)) for part in parts)


def test_an_endless_cluster_still_ends() -> None:
    """A thousand accents on one letter are no reason to send nothing or to loop."""
    parts = split_text("a" + "\u0301" * 10_000)

    assert "".join(parts) == "a" + "\u0301" * 10_000
    assert max(map(_units, parts)) <= PART_UNITS_MAX


def test_characters_of_two_units_count_as_two() -> None:
    """Counted as UTF-16, a part fits whichever way the API counts."""
    parts = split_text("😀" * 5000)

    assert [len(part) for part in parts] == [2048, 2048, 904]


def test_a_real_answer_is_cut_at_its_paragraphs() -> None:
    """A long answer of many paragraphs keeps each of them whole."""
    paragraphs = [f"Parágrafo {number}. " + "palavra " * 60 for number in range(40)]
    parts = split_text("\n\n".join(paragraphs))

    assert all(part.startswith("Parágrafo") for part in parts)
    assert "\n\n".join(parts).split() == "\n\n".join(paragraphs).split()


_TEXTS = st.text(
    alphabet=st.one_of(
        st.sampled_from(" \n\t\u00a0.!?ab😀\u200d\u0301🇧🇷👍🏽*_[]()`#~"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=300,
)


@given(text=_TEXTS, units_max=st.integers(2, 40))
def test_any_text_is_split_within_bounds_and_nothing_is_lost(text: str, units_max: int) -> None:
    """Parts fit, none is blank, and together they are the text in its order but for white space."""
    parts = split_text(text, units_max)

    assert all(_units(part) <= units_max and part.strip() and part == part.strip() for part in parts)
    assert _inked("".join(parts)) == _inked(format_text(text).replace("\x00", "\ufffd"))
    assert bool(parts) == bool(text.strip())


@given(text=_TEXTS)
def test_formatting_any_text_keeps_its_lines(text: str) -> None:
    """Formatting never raises, never joins or drops a line, never blanks one."""
    formatted = format_text(text)

    assert [bool(line.strip()) for line in formatted.split("\n")] == [
        bool(line.strip()) for line in text.split("\n")
    ]


@given(text=st.text(alphabet=st.characters(categories=["Cs"]), max_size=50))
def test_lone_surrogates_are_replaced(text: str) -> None:
    """They are no text and could not be sent."""
    assert "".join(split_text(text)) == "\ufffd" * len(text)
