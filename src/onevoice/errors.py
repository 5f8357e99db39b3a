"""Every error a user or an operator can meet. The docstring is the default message.

A message names the thing, the cause and the next act, and never shows a secret or a customer's words.
"""

from __future__ import annotations

from onevoice.vocabulary import OperatorId


class OnevoiceError(Exception):
    """onevoice could not do what it was asked."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class ConfigurationError(OnevoiceError):
    """The configuration cannot be used."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


class DatabaseUnavailable(OnevoiceError):
    """The database does not answer; nothing was stored. Try again when `onevoice doctor` finds it."""


class SchemaTooNew(OnevoiceError):
    """The database was migrated by a newer onevoice; upgrade this one before it starts."""


class SignatureInvalid(OnevoiceError):
    """The webhook's signature does not match the channel's app_secret; nothing was stored."""


class BodyUnreadable(OnevoiceError):
    """The webhook's body is not JSON, or is nested too deep; nothing was stored."""


class AgentError(OnevoiceError):
    """The agent gave no proposal.

    ``reason`` is a short code for journal and metric; ``retry`` says whether trying again can help;
    ``retry_after_seconds`` is the provider's own wait.
    """

    def __init__(
        self,
        reason: str,
        message: str | None = None,
        *,
        retry: bool = True,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message or f"the agent gave no proposal: {reason}")
        self.reason = reason
        self.retry = retry
        self.retry_after_seconds = retry_after_seconds


class MediaUnavailable(OnevoiceError):
    """A file cannot be had, stored or handed over.

    ``reason`` is a short code for journal and metric; ``retry`` says whether trying again can help;
    ``retry_after_seconds`` is the provider's own wait.
    """

    def __init__(self, reason: str, *, retry: bool = True, retry_after_seconds: float | None = None) -> None:
        super().__init__(f"the file cannot be had: {reason}")
        self.reason = reason
        self.retry = retry
        self.retry_after_seconds = retry_after_seconds


class MessageUnsendable(OnevoiceError):
    """The channel cannot carry this message; nothing was sealed.

    ``code`` names the limit or the missing ability (``file_too_large``, ``too_many_buttons``, ``not_supported`` …); the
    message says which, and what to do.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class TranscriptionFailed(OnevoiceError):
    """An audio was not transcribed; reason, retry and wait as of ``MediaUnavailable``."""

    def __init__(self, reason: str, *, retry: bool = True, retry_after_seconds: float | None = None) -> None:
        super().__init__(f"the audio was not transcribed: {reason}")
        self.reason = reason
        self.retry = retry
        self.retry_after_seconds = retry_after_seconds


class StatementFailed(OnevoiceError):
    """The database refused a statement; its transaction was rolled back.

    ``sqlstate`` and ``constraint`` tell which rule refused it. The message never holds values.
    """

    def __init__(
        self, message: str | None = None, *, sqlstate: str | None = None, constraint: str | None = None
    ) -> None:
        super().__init__(message or "the database refused a statement; its transaction was rolled back")
        self.sqlstate = sqlstate
        self.constraint = constraint


class DataRefused(StatementFailed):
    """A value cannot be stored, now or later; in a batch, one item poisons all."""


class StatementInterrupted(StatementFailed):
    """A deadlock, a lock wait or a time limit ended a statement; nothing was stored, trying again can help."""


class MigrationFailed(OnevoiceError):
    """The database's schema could not be brought up to date."""


class EmbeddedServerFailed(OnevoiceError):
    """The embedded PostgreSQL could not be started; configure `database.url` to use another server."""


class AddressUnusable(OnevoiceError):
    """The server cannot listen on this address; choose another with --host and --port."""


class BackupFailed(OnevoiceError):
    """The backup could not be made or restored; nothing was changed."""


class ConversationUnknown(OnevoiceError):
    """No conversation of this id belongs to the account; look it up with GET /api/v1/conversations."""


class CommandRefused(OnevoiceError):
    """The conversation's authority does not allow the command.

    ``code`` is the API's error code (``held_by_other``, ``not_owner``, ``invalid_transition``, ``key_reused`` …);
    ``owner`` is who holds the conversation, where somebody does.
    """

    def __init__(self, code: str, message: str, *, owner: OperatorId | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.owner = owner


class OutboundUnknown(OnevoiceError):
    """No outbound message of this id belongs to the account; list them with GET /api/v1/outbound."""


class OperatorExists(OnevoiceError):
    """An operator of this name exists already; choose another name."""


class OperatorUnknown(OnevoiceError):
    """No operator of this name; `onevoice operator list` shows who there is."""


class OperatorNameUnusable(OnevoiceError):
    """The operator's name cannot be used; choose another."""


class SignInRefused(OnevoiceError):
    """Name or password is wrong, or the operator is disabled; an admin can give a new password."""


class SignInLimited(OnevoiceError):
    """Too many attempts to sign in; wait a moment and try again."""

    def __init__(self, *, retry_after_seconds: float) -> None:
        super().__init__()
        self.retry_after_seconds = retry_after_seconds


class WriteRefused(OnevoiceError):
    """A write tool was not called, because the conversation moved on; answer with no messages.

    ``reason`` is ``authority_revoked``, ``newer_message``, ``turn_over`` or ``outcome_unknown``; with approval by an
    operator also ``refused_by_operator`` or ``approval_timeout``. Whatever the agent makes of this error, its turn
    seals nothing.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the write was refused: {reason}; nothing was done by this call, and this turn will not be answered"
        )
        self.reason = reason


class WriteOutsideTurn(OnevoiceError):
    """A write tool was called where no turn runs.

    The cause: it was called outside an agent, or in a thread that was started without the caller's context. Start
    the thread with ``asyncio.to_thread`` or ``contextvars.copy_context().run``; in a test, call the tool inside
    ``with onevoice.testing.RecordingWriteGate():``.
    """


class WriteBlocksLoop(OnevoiceError):
    """A plain function that is a write tool was called on the event loop, where waiting for the gate would block it.

    Make it ``async def``, or let the framework call it in a thread. The write was not done.
    """


class WriteArgumentsInvalid(OnevoiceError):
    """The arguments of a write tool cannot be written as JSON; leave such a parameter out with ``leave_out``."""


class EffectUnknown(OnevoiceError):
    """No effect or turn of this id belongs to the account; use the ids of the authorisation and of the turn."""


class EffectSettled(OnevoiceError):
    """The effect has another outcome already, or was never started; what is recorded stays."""


class SimulationFailed(OnevoiceError):
    """The scenarios cannot be played on this machine; the sentence says why."""


class ScenarioStuck(OnevoiceError):
    """Something did not happen without which the rest of a scenario makes no sense."""


class HandoffOutsideTurn(OnevoiceError):
    """The handoff tool was called where no turn runs; in a test, call it inside `with catch_handoff():`."""
