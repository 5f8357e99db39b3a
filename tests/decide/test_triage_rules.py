"""The offline triage decider: contract cases, several messages, hostile texts, and its figures on labelled rows."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import cast
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onevoice.adapters.triage import rules
from onevoice.adapters.triage.rules import RulesDecider, decide_by_rules
from onevoice.adapters.triage.rules.lexicon import LANGUAGES, guess_language, lexicon_of
from onevoice.adapters.triage.rules.normalise import TEXT_CHARS_MAX, read
from onevoice.adapters.triage.rules.weights import fitted_weights
from onevoice.ports.triage import Decider
from onevoice.vocabulary import ChannelName, ConversationId, TriageDecision, TriageRequest

RELEASE, CANCEL, MERGE = TriageDecision.RELEASE_FIRST, TriageDecision.CANCEL_FIRST, TriageDecision.MERGE
REPOSITORY = Path(__file__).resolve().parents[2]
OWN_ROWS = REPOSITORY / "tests" / "decide" / "triage_own.jsonl"
FRESH_ROWS = REPOSITORY / "tests" / "decide" / "triage_fresh.jsonl"


def request(
    overtaken: tuple[str, ...] = (), reply: tuple[str, ...] = (), newer: tuple[str, ...] = ()
) -> TriageRequest:
    return TriageRequest(
        conversation_id=ConversationId(UUID(int=1)),
        channel=ChannelName("loja"),
        overtaken=overtaken,
        reply=reply,
        newer=newer,
    )


def decide(
    overtaken: str | tuple[str, ...], reply: str | tuple[str, ...], newer: str | tuple[str, ...]
) -> TriageDecision:
    sides = ((side,) if isinstance(side, str) else side for side in (overtaken, reply, newer))
    return decide_by_rules(request(*sides))[0]


@pytest.mark.parametrize("reply", ["", "Pronto!", "Recebi sua mensagem."])
@pytest.mark.parametrize(
    ("overtaken", "newer", "expected"),
    [
        ("Qual o horário de funcionamento?", "E vocês aceitam PIX?", RELEASE),
        ("Quero cancelar meu pedido", "Na verdade não cancela, acabei de receber", CANCEL),
        ("Adiciona uma pizza de calabresa", "E uma Coca 2L também", MERGE),
        ("Quero cancelar meu pedido 10", "Esquece, na verdade quero só mudar o endereço", CANCEL),
        ("pode ser sexta", "ah, na verdade pode ser sábado", MERGE),
    ],
)
def test_the_published_scenarios_come_out_as_stated(
    overtaken: str, reply: str, newer: str, expected: TriageDecision
) -> None:
    """The cases of the contract are decided as stated, whatever the agent answered."""
    assert expected is decide(overtaken, reply, newer)


@pytest.mark.parametrize(
    ("overtaken", "reply", "newer", "expected"),
    [
        ("Cancela", "O que deseja cancelar?", "só o plano extra, o resto mantém", MERGE),
        ("Corta el servicio", "Servicio cortado.", "no no, no lo corten!!", CANCEL),
        ("how late are you open", "Until 9 pm.", "never mind the typos in my text lol", RELEASE),
        ("onde fica a loja?", "Na rua das Flores, 10.", "como faço pra cancelar o boletim de vcs?", RELEASE),
        ("book me for monday", "Booked for Monday.", "tuesday sorry", MERGE),
        ("marca pra terça", "Marcado na terça.", "terça não, quinta", MERGE),
        ("qual o preço?", "Custa R$ 50.", "q atendimento maravilhoso, parabéns", RELEASE),
        ("a luz acabou aqui", "Equipe a caminho.", "voltou", CANCEL),
    ],
)
def test_a_word_of_cancelling_is_read_in_its_sentence(
    overtaken: str, reply: str, newer: str, expected: TriageDecision
) -> None:
    """Cancelling words inside a detail, a new question or an aside do not cancel; cancelling without them does."""
    assert expected is decide(overtaken, reply, newer)


@pytest.mark.parametrize(
    ("overtaken", "newer", "expected"),
    [
        ("manda duas caixas", ("obrigado", "na verdade não manda"), CANCEL),
        ("manda duas caixas", ("esquece", "obg"), CANCEL),
        ("manda duas caixas", ("esquece", "pode mandar sim"), MERGE),
        ("cancela meu plano", ("não cancela", "pensando bem, cancela sim"), MERGE),
        ("manda duas caixas", ("obg", "e mais uma pequena"), MERGE),
        ("abre domingo?", ("obg", "vcs vendem flores?"), RELEASE),
        ("abre domingo?", ("e vocês", "aceitam pix?"), RELEASE),
        ("book a table for two", ("thanks", "oh wait", "cancel that"), CANCEL),
    ],
)
def test_several_newer_messages_are_read_together(
    overtaken: str, newer: tuple[str, ...], expected: TriageDecision
) -> None:
    """The latest retraction wins, and one that is taken back again leads to a merge."""
    reply = {"abre domingo?": "Abrimos sim.", "cancela meu plano": "Plano cancelado."}.get(
        overtaken, "Anotado!"
    )

    assert expected is decide(overtaken, reply, newer)


def test_several_overtaken_messages_are_read_as_one() -> None:
    """A retraction meets the act in whichever earlier message named it."""
    assert CANCEL is decide(
        ("oi", "quero marcar", "sexta 10h"), "Marcado sexta às 10h.", "não marca não, me enganei"
    )


@pytest.mark.parametrize(
    ("newer", "expected"),
    [
        ("", MERGE),
        ("   \n ", MERGE),
        ("[image]", MERGE),
        ("[audio]", MERGE),
        ("👎", MERGE),
        ("👍👍", RELEASE),
        ("🦄", RELEASE),
        ("kkkkkk", RELEASE),
        ("jajaja", RELEASE),
        ("???", RELEASE),
        ("ok", RELEASE),
    ],
)
def test_messages_without_words_are_decided_by_what_they_are(newer: str, expected: TriageDecision) -> None:
    """A nod lets the reply go; a picture, silence or a frown is answered together with A."""
    assert expected is decide("manda uma caixa", "Caixa a caminho.", newer)


def test_a_transcribed_audio_is_read_by_its_words() -> None:
    """The label in brackets before a transcription is not part of what was said."""
    assert CANCEL is decide(
        "manda uma caixa", "Caixa a caminho.", "[áudio transcrito] olha pode cancelar que eu desisti"
    )


@given(
    overtaken=st.lists(st.text(max_size=80), max_size=3),
    reply=st.lists(st.text(max_size=80), max_size=2),
    newer=st.lists(st.text(max_size=120), max_size=4),
)
@settings(max_examples=150, deadline=None)
def test_no_text_makes_it_raise(overtaken: list[str], reply: list[str], newer: list[str]) -> None:
    """Whatever a customer types, there is a decision and a reason, the same each time."""
    asked = request(tuple(overtaken), tuple(reply), tuple(newer))

    decision, reason = decide_by_rules(asked)

    assert (decision, reason) == decide_by_rules(asked)
    assert reason.startswith(decision.value)


@pytest.mark.parametrize(
    "text", ["\ud800", "a" * 200_000, "nao " * 50_000, "?!" * 50_000, "* [x] " * 9_000, "\x00"]
)
def test_hostile_texts_are_cut_to_a_bounded_length(text: str) -> None:
    """Lone surrogates and endless texts are read in part, not refused."""
    assert decide(text, text, (text,) * 20) in TriageDecision
    assert sum(len(word) for word in read(text, {}).words) <= TEXT_CHARS_MAX + 1


def test_the_reason_quotes_nothing_the_customer_wrote() -> None:
    """Reasons are made of sign names, so that they may be logged."""
    known = {*fitted_weights().signs, "cancel_first", "message", "of"}

    _, reason = decide_by_rules(
        request(("manda o anel",), ("Anel enviado.",), ("esquece o anel 4711 da Zuleica",))
    )

    words = {word.strip(",:()") for word in reason.split()} - known
    assert all(word.replace(".", "").isdigit() for word in words), words


async def test_the_decider_fulfils_its_port() -> None:
    """It is named, decides and closes without a network."""
    decider: Decider = RulesDecider()

    decision = await decider.decide(request(("Oi",), ("Olá!",), ("obrigada",)))
    await decider.close()

    assert (decider.name, decision) == ("rules", RELEASE)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("vc tem q ver isso hj", "pt"),
        ("cuánto sale el envío", "es"),
        ("how much is the shipping", "en"),
        ("", "pt"),
    ],
)
def test_the_language_is_guessed_from_common_words(text: str, language: str) -> None:
    """Each of the three languages is known by its function words; nothing at all counts as Portuguese."""
    assert language == guess_language((text,))


def test_every_language_has_the_same_kinds_of_cue() -> None:
    """A kind of cue that one language lacks would silently never be seen there."""
    first, *others = (lexicon_of(language) for language in LANGUAGES)

    for other in others:
        assert set(first.patterns) == set(other.patterns)
        assert set(first.words) == set(other.words)
        assert set(first.reply_patterns) == set(other.reply_patterns)


def _lexicon_files() -> Iterator[tuple[str, str]]:
    for language in LANGUAGES:
        for part in ("words", "manners", "retraction", "matter"):
            source = files(rules).joinpath("lexicon", language, f"{part}.toml").read_text(encoding="utf-8")
            yield f"{language}/{part}", source


def test_lexicon_patterns_are_written_in_normalised_text() -> None:
    """A pattern with a capital or an accent could never match."""
    for name, source in _lexicon_files():
        sections = cast("dict[str, dict[str, list[str]]]", tomllib.loads(source))
        for section in ("patterns", "reply"):
            for pattern in (one for listed in sections.get(section, {}).values() for one in listed):
                assert pattern == pattern.lower(), (name, pattern)
                assert pattern.isascii(), (name, pattern)


def _share_right(path: Path) -> tuple[float, float]:
    right = harmful = 0
    lines = path.read_text(encoding="utf-8").splitlines()
    for line in lines:
        row = cast("dict[str, str]", json.loads(line))
        decision = decide(row["a"], row["a_reply"], row["b"])
        right += decision in (row["label"], *row["also"])
        harmful += {decision, row["label"]} == {RELEASE, CANCEL} and decision not in row["also"]
    return right / len(lines), harmful / len(lines)


@pytest.mark.parametrize(("path", "right_min"), [(OWN_ROWS, 0.9), (FRESH_ROWS, 0.8)])
def test_rows_of_other_trades_are_decided_rightly(path: Path, right_min: float) -> None:
    """Rows from trades outside the development set; those of the fresh file were never fitted."""
    right, harmful = _share_right(path)

    assert right >= right_min
    assert harmful <= 0.03


def run_bench(script: str, *arguments: str) -> tuple[int, str]:
    finished = subprocess.run(
        [sys.executable, str(REPOSITORY / "bench" / script), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(REPOSITORY / "src"), "PYTHONUTF8": "1"},
    )
    return finished.returncode, finished.stdout + finished.stderr


def test_the_thresholds_hold_with_each_domain_left_out() -> None:
    """The benchmark passes: right and harmful, as shipped and fitted without the domain it judges."""
    code, output = run_bench("triage.py")

    assert code == 0, output[-3000:]


def test_the_benchmark_fails_when_a_threshold_is_missed(tmp_path: Path) -> None:
    """A row with the opposite label makes the exit code non-zero and names what was missed."""
    row: dict[str, object] = {"id": "x-1", "lang": "pt", "domain": "x", "label": "release_first", "also": []}
    row |= {"a": "manda uma caixa", "a_reply": "Caixa a caminho.", "b": "desisti, não manda mais"}
    data = tmp_path / "rows.jsonl"
    data.write_text(json.dumps(row) + "\n", encoding="utf-8")

    code, output = run_bench("triage.py", "--data", str(data))

    assert code == 1
    assert "harmful 100.0% is over" in output


def test_the_committed_weights_are_those_the_fit_writes() -> None:
    """Signs, rows and weights are kept in step: whoever changes one runs the fit again."""
    code, output = run_bench("fit_triage.py", "--check")

    assert code == 0, output
