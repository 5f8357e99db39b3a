"""What the demo says once it runs: where to go, what to try, what to look at. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def opening(url: str, *, chats: Sequence[str], login: str, data_dir: str) -> str:
    """The text; ``chats`` are the names of the webchat channels, ``login`` is an operator's."""
    chat_pages = [f"{url}/chat/{name}" for name in chats]
    console = f"{url}/console"
    where = [
        *(f"  Write as a customer      {page}" for page in chat_pages),
        f"  Answer as an operator    {console}",
        f"                           {login}",
    ]
    return "\n".join(
        [f"onevoice runs at {url}", "", *where, "", _TRY.format(console=console), _end(data_dir)]
    )


_TRY = """\
Three things to try in the chat
  1. Send four quick fragments:  oi / queria marcar / pra sexta / de manhã se tiver
     They become one turn and get one answer.
  2. Correct yourself while it answers:  pode ser sexta, then at once  na verdade sábado
     The reply about Friday was right when it was written. It is never sent.
  3. Ask for a human:  quero falar com uma pessoa
     The AI says goodbye and stays silent until you take over and give it back.
It understands English too.

Where to look
  {console} shows each conversation with every decision and its reason.
  `onevoice simulate` plays what is hard to hit by hand: crashes, races, takeovers."""


def _end(data_dir: str) -> str:
    return f"\nCtrl-C stops it. What happened stays in {data_dir}; the next start goes on from there."
