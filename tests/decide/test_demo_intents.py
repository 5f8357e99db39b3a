"""The demo agent's ear: utterances in Portuguese and English, with typing errors and without accents."""

import unicodedata
from datetime import date, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onevoice.adapters.agents.demo.days import Period, days_in, period_in, times_in
from onevoice.adapters.agents.demo.intents import Intent, Payment, understand
from onevoice.adapters.agents.demo.orders import ITEMS_MAX, items_in
from onevoice.adapters.agents.demo.words import Language, fold, language_of, mend

MONDAY = date(2026, 11, 30)
TUESDAY, FRIDAY, SATURDAY = (MONDAY + timedelta(days=days) for days in (1, 4, 5))

PORTUGUESE: list[tuple[str, set[Intent]]] = [
    ("oi", {Intent.GREET}),
    ("Olá, bom dia!", {Intent.GREET}),
    ("boa tarde", {Intent.GREET}),
    ("boa noite", {Intent.GREET}),
    ("opa, tudo bem?", {Intent.GREET}),
    ("Qual o horário de funcionamento?", {Intent.HOURS}),
    ("qual o horario de funcionamento", {Intent.HOURS}),
    ("vcs abrem sábado?", {Intent.HOURS}),
    ("que horas fecha hoje", {Intent.HOURS}),
    ("qual horario de atendimento de vcs", {Intent.HOURS}),
    ("voces funcionam no domingo?", {Intent.HOURS}),
    ("qual o fucionamento da clinica", {Intent.HOURS}),
    ("onde fica a clínica?", {Intent.ADDRESS}),
    ("qual o endereço", {Intent.ADDRESS}),
    ("me passa o enderço por favor", {Intent.ADDRESS}),
    ("como chego ai", {Intent.ADDRESS}),
    ("E vocês aceitam PIX?", {Intent.PAYMENT}),
    ("aceita cartao de credito", {Intent.PAYMENT}),
    ("posso pagar em dinheiro?", {Intent.PAYMENT}),
    ("atendem por convênio", {Intent.PAYMENT}),
    ("quais as formas de pagamento", {Intent.PAYMENT}),
    ("quanto custa a consulta?", {Intent.PRICE}),
    ("qual o valor", {Intent.PRICE}),
    ("queria marcar", {Intent.BOOK}),
    ("quero agendar uma consulta", {Intent.BOOK}),
    ("tem horário amanhã?", {Intent.BOOK}),
    ("tem vaga pra quinta de tarde", {Intent.BOOK}),
    ("pra sexta", {Intent.BOOK}),
    ("de manhã se tiver", {Intent.BOOK}),
    ("pode ser sexta", {Intent.BOOK}),
    ("ah, na verdade pode ser sábado", {Intent.BOOK}),
    ("sexat de manha", {Intent.BOOK}),
    ("segunda-feira às 9h", {Intent.BOOK}),
    ("preciso remarcar minha consulta", {Intent.MOVE}),
    ("quero mudar minha consulta pra quinta", {Intent.MOVE}),
    ("da pra trocar o horario?", {Intent.MOVE}),
    ("quero reagendr", {Intent.MOVE}),
    ("quero cancelar a consulta", {Intent.CANCEL}),
    ("preciso desmarcar meu horário de sexta", {Intent.CANCEL}),
    ("cancelr minha consulta", {Intent.CANCEL}),
    ("Quero cancelar meu pedido", {Intent.CANCEL_ORDER}),
    ("cancela a pizza", {Intent.CANCEL_ORDER}),
    ("Na verdade não cancela, acabei de receber", {Intent.KEEP, Intent.RECEIVED}),
    ("nao precisa mais cancelar", {Intent.KEEP}),
    ("ja chegou, obrigado", {Intent.RECEIVED, Intent.THANKS}),
    ("Adiciona uma pizza de calabresa", {Intent.ORDER}),
    ("E uma Coca 2L também", {Intent.ORDER}),
    ("quero dois cafés", {Intent.ORDER}),
    ("quando é minha consulta?", {Intent.LOOK_UP}),
    ("que horas ficou marcada minha consulta", {Intent.LOOK_UP}),
    ("quero falar com um atendente", {Intent.HUMAN}),
    ("quero falar com um atendete", {Intent.HUMAN}),
    ("me passa pra um humano", {Intent.HUMAN}),
    ("dá pra falar com alguém?", {Intent.HUMAN}),
    ("não precisa de atendente", set()),
    ("obrigada!", {Intent.THANKS}),
    ("vlw", {Intent.THANKS}),
    ("valeu, até amanhã", {Intent.THANKS, Intent.BYE}),
    ("tchau", {Intent.BYE}),
    ("sim", {Intent.YES}),
    ("pode confirmar, por favor", {Intent.YES}),
    ("não", {Intent.NO}),
    ("deixa pra lá", {Intent.NO}),
    ("o que você faz?", {Intent.HELP}),
    ("meu cachorro é bonito", set()),
]

ENGLISH: list[tuple[str, set[Intent]]] = [
    ("hi", {Intent.GREET}),
    ("Hello there", {Intent.GREET}),
    ("good morning", {Intent.GREET}),
    ("hey!", {Intent.GREET}),
    ("What are your opening hours?", {Intent.HOURS}),
    ("when do you open", {Intent.HOURS}),
    ("are you open on saturday?", {Intent.HOURS}),
    ("what time do you close today", {Intent.HOURS}),
    ("what are your openng hours", {Intent.HOURS}),
    ("where are you?", {Intent.ADDRESS}),
    ("whats the address", {Intent.ADDRESS}),
    ("where is the clinic located", {Intent.ADDRESS}),
    ("how do i get there?", {Intent.ADDRESS}),
    ("do you take PIX?", {Intent.PAYMENT}),
    ("can i pay by credit card", {Intent.PAYMENT}),
    ("is cash ok?", {Intent.PAYMENT}),
    ("do you accept my insurance", {Intent.PAYMENT}),
    ("do you take insurence", {Intent.PAYMENT}),
    ("how much is it?", {Intent.PRICE}),
    ("what does a visit cost", {Intent.PRICE}),
    ("I'd like to book an appointment", {Intent.BOOK}),
    ("i want to schedule a visit", {Intent.BOOK}),
    ("do you have anything free on friday?", {Intent.BOOK}),
    ("friday morning if possible", {Intent.BOOK}),
    ("any slots tomorrow?", {Intent.BOOK}),
    ("actually saturday", {Intent.BOOK}),
    ("at 9:30", {Intent.BOOK}),
    ("the first one", {Intent.BOOK}),
    ("tomorow afternoon please", {Intent.BOOK}),
    ("i need an apointment", {Intent.BOOK}),
    ("can I reschedule?", {Intent.MOVE}),
    ("please move my appointment to thursday", {Intent.MOVE}),
    ("could we change it to monday", {Intent.MOVE}),
    ("I need to cancel my appointment", {Intent.CANCEL}),
    ("please cancle my appointment", {Intent.CANCEL}),
    ("cancel my order", {Intent.CANCEL_ORDER}),
    ("actually don't cancel, it just arrived", {Intent.KEEP, Intent.RECEIVED}),
    ("do not cancel", {Intent.KEEP}),
    ("I already got it, thanks", {Intent.RECEIVED, Intent.THANKS}),
    ("add a pepperoni pizza", {Intent.ORDER}),
    ("and a 2L coke too", {Intent.ORDER}),
    ("can i get two coffees", {Intent.ORDER}),
    ("when is my appointment?", {Intent.LOOK_UP}),
    ("do i have an appointment", {Intent.LOOK_UP}),
    ("human please", {Intent.HUMAN}),
    ("let me talk to a real person", {Intent.HUMAN}),
    ("I want to speak with someone", {Intent.HUMAN}),
    ("can I talk to an agent", {Intent.HUMAN}),
    ("i don't need a human", set()),
    ("thanks!", {Intent.THANKS}),
    ("thank you so much", {Intent.THANKS}),
    ("bye", {Intent.BYE}),
    ("see you tomorrow", {Intent.BYE}),
    ("yes", {Intent.YES}),
    ("sounds good, thanks", {Intent.YES, Intent.THANKS}),
    ("no thanks", {Intent.NO, Intent.THANKS}),
    ("what can you do?", {Intent.HELP}),
    ("my dog is nice", set()),
]


def test_both_tables_are_long_enough() -> None:
    """Each language is tried with at least forty utterances."""
    assert min(len(PORTUGUESE), len(ENGLISH)) >= 40


@pytest.mark.parametrize(
    ("text", "intents"), PORTUGUESE + ENGLISH, ids=lambda value: value[:50] if isinstance(value, str) else ""
)
def test_an_utterance_is_understood(text: str, intents: set[Intent]) -> None:
    """One message gives exactly the intents a person hears in it."""
    assert set(understand([text], today=MONDAY).intents) == intents


@pytest.mark.parametrize(
    ("texts", "intents"),
    [
        (["oi", "queria marcar", "pra sexta", "de manhã se tiver"], (Intent.GREET, Intent.BOOK)),
        (["Qual o horário de funcionamento?", "E vocês aceitam PIX?"], (Intent.HOURS, Intent.PAYMENT)),
        (
            ["Quero cancelar meu pedido", "Na verdade não cancela, acabei de receber"],
            (Intent.KEEP, Intent.RECEIVED),
        ),
        (["não cancela", "ah cancela sim minha consulta"], (Intent.CANCEL,)),
        (["Adiciona uma pizza de calabresa", "E uma Coca 2L também"], (Intent.ORDER,)),
        (["quero remarcar", "marca pra sexta"], (Intent.MOVE,)),
        ([], ()),
        ([""], ()),
    ],
)
def test_a_burst_is_read_as_one_turn(texts: list[str], intents: tuple[Intent, ...]) -> None:
    """Messages add up, in the order in which things were said; what is taken back is gone."""
    assert understand(texts, today=MONDAY).intents == intents


def test_day_and_period_come_from_different_messages() -> None:
    """The burst of the demo scenario is one wish: Friday, in the morning."""
    understood = understand(["oi", "queria marcar", "pra sexta", "de manhã se tiver"], today=MONDAY)

    assert understood.days == (FRIDAY,)
    assert understood.period is Period.MORNING
    assert understood.language is Language.PORTUGUESE


@pytest.mark.parametrize(
    ("texts", "days"),
    [
        (["pode ser sexta", "ah, na verdade pode ser sábado"], (SATURDAY,)),
        (["friday", "no wait, actually saturday"], (SATURDAY,)),
        (["sexta", "sexta não posso, terça"], (TUESDAY,)),
        (["vocês abrem sábado?", "quero marcar pra sexta"], (FRIDAY,)),
        (["quero marcar pra sexta", "vocês abrem sábado?"], (FRIDAY,)),
        (["boa tarde", "até amanhã"], ()),
    ],
)
def test_the_last_day_asked_for_counts(texts: list[str], days: tuple[date, ...]) -> None:
    """A correction wins, and a day in another question is no wish."""
    assert understand(texts, today=MONDAY).days == days


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sexta", (FRIDAY,)),
        ("sexta-feira", (FRIDAY,)),
        ("sex ou sab", (FRIDAY, SATURDAY)),
        ("sexta ou no sabado", (FRIDAY, SATURDAY)),
        ("friday or saturday", (FRIDAY, SATURDAY)),
        ("terca, sexta ou sabado", (FRIDAY, SATURDAY)),
        ("segunda", (MONDAY,)),
        ("hoje", (MONDAY,)),
        ("amanha", (TUESDAY,)),
        ("depois de amanha", (MONDAY + timedelta(days=2),)),
        ("the day after tomorrow", (MONDAY + timedelta(days=2),)),
        ("semana que vem", (MONDAY + timedelta(days=7),)),
        ("dia 4", (FRIDAY,)),
        ("the 4th", (FRIDAY,)),
        ("dia 29", (date(2026, 12, 29),)),
        ("04/12", (FRIDAY,)),
        ("4/12", (FRIDAY,)),
        ("29/11", (date(2027, 11, 29),)),
        ("31/02", ()),
        ("99/99", ()),
        ("dia 0", ()),
        ("nao posso na sexta", ()),
        ("not friday, saturday", (SATURDAY,)),
        ("sexta nao da", ()),
        ("sextas", ()),
        ("bonfire", ()),
    ],
)
def test_days_are_counted_from_the_message(text: str, expected: tuple[date, ...]) -> None:
    """Weekdays, dates and relative days resolve to the next such day; a refused one is none."""
    assert days_in(text, today=MONDAY) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9h", [time(9)]),
        ("9h30", [time(9, 30)]),
        ("09:30", [time(9, 30)]),
        ("as 9", [time(9)]),
        ("as nove", [time(9)]),
        ("as nove e meia", [time(9, 30)]),
        ("9 horas", [time(9)]),
        ("9h e meia", [time(9, 30)]),
        ("at 10", [time(10)]),
        ("9am", [time(9)]),
        ("2pm", [time(14)]),
        ("2:30pm", [time(14, 30)]),
        ("12 am", [time(0)]),
        ("12pm", [time(12)]),
        ("as 3", [time(15)]),
        ("as 3 da tarde", [time(15)]),
        ("at 3 in the afternoon", [time(15)]),
        ("14h", [time(14)]),
        ("meio dia", [time(12)]),
        ("noon", [time(12)]),
        ("9h ou 10h", [time(9), time(10)]),
        ("25h", []),
        ("uma coca 2l", []),
        ("dia 4", []),
        ("as 99", []),
    ],
)
def test_times_are_read_as_a_clinic_reads_them(text: str, expected: list[time]) -> None:
    """Both notations, words and half hours; small hours are in the afternoon."""
    assert list(times_in(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("de manha", Period.MORNING),
        ("amanha", None),
        ("amanha de manha", Period.MORNING),
        ("a tarde", Period.AFTERNOON),
        ("tomorrow evening", Period.EVENING),
        ("de manha nao, de tarde", Period.AFTERNOON),
        ("mais tarde", None),
    ],
)
def test_the_last_part_of_the_day_counts(text: str, expected: Period | None) -> None:
    """Tomorrow is no morning, and later is no afternoon."""
    assert period_in(text) is expected


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("Adiciona uma pizza de calabresa", ("pizza de calabresa",)),
        ("E uma Coca 2L também", ("Coca 2L",)),
        ("acrescenta 2 coxinhas e um suco de uva, por favor", ("coxinhas", "suco de uva")),
        ("quero um café", ("café",)),
        ("queria um pão de queijo e uma água", ("pão de queijo", "água")),
        ("add a pepperoni pizza to my order", ("pepperoni pizza",)),
        ("and a 2L coke too", ("2L coke",)),
        ("I'd like two coffees please", ("coffees",)),
        ("quero um atendente", ()),
        ("quero uma consulta", ()),
        ("e uma pergunta", ()),
        ("adiciona", ()),
        ("coloca um horário pra mim", ()),
    ],
)
def test_items_are_in_the_customers_words(text: str, items: tuple[str, ...]) -> None:
    """Verb, article and courtesy fall away; accents and capitals stay."""
    assert items_in(text) == items


def test_an_order_has_bounds() -> None:
    """A message cannot order without end."""
    assert len(items_in("adiciona uma pizza" + "".join(f", um item {n}" for n in range(99)))) == ITEMS_MAX


@pytest.mark.parametrize(
    ("text", "payments"),
    [
        ("aceita pix?", (Payment.PIX,)),
        ("pix ou cartao", (Payment.PIX, Payment.CARD)),
        ("formas de pagamento", ()),
        ("cash or insurance", (Payment.CASH, Payment.INSURANCE)),
    ],
)
def test_ways_to_pay_are_told_apart(text: str, payments: tuple[Payment, ...]) -> None:
    """Each way that is named is known; a general question names none."""
    assert understand([text], today=MONDAY).payments == payments


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        (["oi", "tudo bem"], Language.PORTUGUESE),
        (["hi there, how are you"], Language.ENGLISH),
        (["ok"], None),
        (["👍"], None),
        ([], None),
    ],
)
def test_the_language_is_the_one_most_words_speak_for(texts: list[str], language: Language | None) -> None:
    """Neither language is guessed from nothing."""
    assert language_of(texts) is language


@pytest.mark.parametrize(
    ("written", "mended"),
    [
        ("sexat", "sexta"),
        ("sabdo", "sabado"),
        ("terrça", "terca"),
        ("quarto", "quarto"),
        ("terra", "terra"),
        ("hj", "hoje"),
    ],
)
def test_typing_errors_are_mended_and_words_left(written: str, mended: str) -> None:
    """One error is mended; an ordinary word that looks alike stays."""
    assert mend(fold(written)) == mended


@given(st.text(max_size=300))
def test_folding_keeps_every_character_in_its_place(text: str) -> None:
    """The folded text has one character for each composed one, so that spans fit both."""
    assert len(fold(text)) == len(unicodedata.normalize("NFC", text))


@given(st.lists(st.text(max_size=80), max_size=6))
def test_any_text_is_understood_somehow(texts: list[str]) -> None:
    """Nothing a customer writes makes the demo stumble, and each intent comes once."""
    understood = understand(texts, today=MONDAY)

    assert len(set(understood.intents)) == len(understood.intents)
