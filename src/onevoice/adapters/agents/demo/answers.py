"""What the front desk says, in Portuguese and English. Whole sentences, which can stand together."""

from __future__ import annotations

from datetime import date, time
from enum import StrEnum

from onevoice.adapters.agents.demo.days import Period
from onevoice.adapters.agents.demo.intents import Payment
from onevoice.adapters.agents.demo.words import Language

PT, EN = Language.PORTUGUESE, Language.ENGLISH


class Question(StrEnum):
    """How an answer may end. The next turn finds out from the history what was asked."""

    WHICH_DAY = "which_day"
    WHICH_TIME = "which_time"
    WHICH_TIME_TO_MOVE = "which_time_to_move"
    CONFIRM_ORDER = "confirm_order"
    CONFIRM_CANCEL_ORDER = "confirm_cancel_order"
    REPHRASE = "rephrase"


QUESTIONS: dict[Question, dict[Language, str]] = {
    Question.WHICH_DAY: {PT: "Que dia fica melhor para você?", EN: "Which day suits you best?"},
    Question.WHICH_TIME: {PT: "Qual horário prefere?", EN: "Which time do you prefer?"},
    Question.WHICH_TIME_TO_MOVE: {
        PT: "Para qual horário quer mudar a consulta?",
        EN: "Which time shall I move your appointment to?",
    },
    Question.CONFIRM_ORDER: {PT: "Posso confirmar o pedido?", EN: "Shall I confirm the order?"},
    Question.CONFIRM_CANCEL_ORDER: {
        PT: "Confirma o cancelamento do pedido?",
        EN: "Shall I go ahead and cancel the order?",
    },
    Question.REPHRASE: {
        PT: "Pode me explicar de outro jeito?",
        EN: "Could you put it another way?",
    },
}

TEXTS: dict[str, dict[Language, str]] = {
    "welcome": {
        PT: "Olá{name}! Aqui é da Clínica Aurora. Posso marcar, mudar ou cancelar consultas e tirar dúvidas. "
        "Como posso ajudar?",
        EN: "Hello{name}! This is Clínica Aurora. I can book, move or cancel appointments and answer "
        "questions. How can I help?",
    },
    "greet": {PT: "Olá{name}!", EN: "Hello{name}!"},
    "help": {
        PT: "Posso marcar, mudar ou cancelar uma consulta, informar horários, endereço e formas de "
        "pagamento, anotar um pedido do nosso café ou chamar um atendente.",
        EN: "I can book, move or cancel an appointment, tell you our hours, address and ways to pay, "
        "take an order from our café, or call a colleague.",
    },
    "hours": {
        PT: "Atendemos de segunda a sexta das 8h às 18h e sábado das 8h às 12h. "
        "Domingo a clínica fica fechada.",
        EN: "We are open Monday to Friday from 8:00 to 18:00 and Saturday from 8:00 to 12:00. "
        "We are closed on Sunday.",
    },
    "address": {
        PT: "Ficamos na Rua das Acácias, 120, Centro, ao lado da praça. Há estacionamento no local.",
        EN: "We are at Rua das Acácias, 120, Centro, next to the square. There is parking on site.",
    },
    "price": {
        PT: "A consulta particular custa R$ 180, com retorno incluído em até 30 dias.",
        EN: "A private appointment costs R$ 180, with a follow-up within 30 days included.",
    },
    "pay_any": {
        PT: "Aceitamos PIX, cartão de crédito e débito, dinheiro e os convênios Vida Plena e Saúde Serra.",
        EN: "We accept PIX, credit and debit cards, cash, and the insurance plans Vida Plena and "
        "Saúde Serra.",
    },
    "pay_pix": {
        PT: "Aceitamos PIX, sim. A chave é enviada na recepção.",
        EN: "Yes, we accept PIX. The front desk gives you the key.",
    },
    "pay_card": {
        PT: "Aceitamos cartão de débito e de crédito, em até 3 vezes sem juros.",
        EN: "Yes, we accept debit and credit cards, in up to 3 instalments.",
    },
    "pay_cash": {PT: "Aceitamos dinheiro, sim.", EN: "Yes, we accept cash."},
    "pay_insurance": {
        PT: "Atendemos os convênios Vida Plena e Saúde Serra; com outros, damos recibo para reembolso.",
        EN: "We take the plans Vida Plena and Saúde Serra; for others we give you a receipt.",
    },
    "ask_day": {PT: "Claro! Há vagas já {day}.", EN: "Of course! The next free times are {day}."},
    "offer": {PT: "{day} tenho livre: {times}.", EN: "{day} these times are free: {times}."},
    "closed": {PT: "{day} a clínica não abre.", EN: "The clinic is closed {day}."},
    "full": {PT: "{day} não tenho mais horários.", EN: "There is nothing left {day}."},
    "period_full": {
        PT: "{day} não tenho horário {period}.",
        EN: "{day} there is nothing free {period}.",
    },
    "not_free": {PT: "{day} às {time} não está livre.", EN: "{day} at {time} is not free."},
    "booked": {
        PT: "Pronto! Sua consulta está marcada para {day} às {time}.",
        EN: "Done! Your appointment is booked for {day} at {time}.",
    },
    "moved": {
        PT: "Pronto! Mudei sua consulta para {day} às {time}.",
        EN: "Done! I moved your appointment to {day} at {time}.",
    },
    "cancelled": {
        PT: "Sua consulta de {day} às {time} está cancelada.",
        EN: "Your appointment {day} at {time} is cancelled.",
    },
    "appointment": {
        PT: "Você tem consulta {day} às {time}.",
        EN: "You have an appointment {day} at {time}.",
    },
    "no_appointment": {
        PT: "Não encontrei nenhuma consulta marcada para você.",
        EN: "I found no appointment booked for you.",
    },
    "kept": {PT: "Tudo certo, não cancelo nada.", EN: "All right, I won't cancel anything."},
    "received": {PT: "Que bom que já chegou!", EN: "Glad it has arrived!"},
    "cancel_order": {
        PT: "Entendi, você quer cancelar o pedido.",
        EN: "I see, you would like to cancel the order.",
    },
    "order_cancelled": {PT: "O pedido está cancelado.", EN: "The order is cancelled."},
    "order": {PT: "Anotei do nosso café: {items}.", EN: "I have noted from our café: {items}."},
    "ordered": {PT: "Pedido confirmado: {items}.", EN: "Order confirmed: {items}."},
    "declined": {PT: "Tudo bem, deixo como está.", EN: "All right, I leave it as it is."},
    "more": {PT: "Certo! Posso ajudar em mais alguma coisa?", EN: "Great! Is there anything else I can do?"},
    "thanks": {
        PT: "De nada! Se precisar, é só chamar.",
        EN: "You're welcome! Just write if you need anything.",
    },
    "bye": {PT: "Até logo!", EN: "See you!"},
    "goodbye": {
        PT: "Claro, vou passar você para um colega da recepção. É só um momento.",
        EN: "Of course, I'm passing you to a colleague at the front desk. One moment, please.",
    },
    "not_heard": {
        PT: "Não consegui ouvir o seu áudio. Pode escrever, por favor?",
        EN: "I could not listen to your audio. Could you write it, please?",
    },
    "not_seen": {
        PT: "Recebi o arquivo, mas por aqui só leio texto e ouço áudio.",
        EN: "I got the file, but here I only read text and listen to voice messages.",
    },
    "not_understood": {
        PT: "Entendi que você escreveu “{words}”, mas não sei resolver isso sozinho.",
        EN: "I read “{words}”, but I can't take care of that by myself.",
    },
    "offer_human": {
        PT: "Se preferir, escreva “atendente” e eu chamo um colega.",
        EN: "If you prefer, write “human” and I'll call a colleague.",
    },
}

_WEEKDAYS = {
    PT: ("segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado", "domingo"),
    EN: ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}
_PERIODS = {
    Period.MORNING: {PT: "de manhã", EN: "in the morning"},
    Period.AFTERNOON: {PT: "à tarde", EN: "in the afternoon"},
    Period.EVENING: {PT: "à noite", EN: "in the evening"},
}
_CITED_CHARS_MAX = 80


class Speaker:
    """Says the texts in one language."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def say(self, key: str, **values: str) -> str:
        text = TEXTS[key][self._language].format(**values)
        return text[0].upper() + text[1:]

    def ask(self, question: Question) -> str:
        return QUESTIONS[question][self._language]

    def day(self, day: date) -> str:
        """A day as it stands inside a sentence; the date keeps it readable for the next turn."""
        name = _WEEKDAYS[self._language][day.weekday()]
        if self._language is EN:
            return f"on {name} ({day:%d/%m})"
        return f"{'no' if day.weekday() >= 5 else 'na'} {name} ({day:%d/%m})"

    def date(self, day: date) -> str:
        """A day after "for", "of" or "to"."""
        return f"{_WEEKDAYS[self._language][day.weekday()]} ({day:%d/%m})"

    def times(self, times: tuple[time, ...]) -> str:
        return ", ".join(f"{moment:%H:%M}" for moment in times)

    def period(self, period: Period) -> str:
        return _PERIODS[period][self._language]

    def payments(self, payments: tuple[Payment, ...]) -> str:
        if len(payments) == 1:
            return self.say(f"pay_{payments[0]}")
        return self.say("pay_any")

    def items(self, items: tuple[str, ...]) -> str:
        *most, last = items
        joined = " e " if self._language is PT else " and "
        return joined.join([", ".join(most), last]) if most else last

    def name(self, name: str | None) -> str:
        first = (name or "").split(" ")[0].strip("{}")
        return f", {first}" if first else ""

    def cite(self, text: str) -> str:
        words = " ".join(text.split())
        return words if len(words) <= _CITED_CHARS_MAX else f"{words[: _CITED_CHARS_MAX - 1]}…"
