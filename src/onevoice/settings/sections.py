"""One model per section of the configuration: keys, defaults, bounds and what each key is for.

The descriptions are the settings reference; secrets are ``SecretStr`` and show nowhere.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

from onevoice.settings.forms import (
    Count,
    Number,
    Switch,
    check_agent,
    check_database_url,
    check_decider,
    check_filled,
    check_http_url,
    check_line,
    check_name,
    check_not_built,
    check_regular_expression,
    check_root_url,
    fault,
    faults_of_keys,
    if_given,
    if_secret_given,
)
from onevoice.settings.hours import Hours, parse_hours
from onevoice.vocabulary import AfterUncertain, ChannelName, WhileHeld, WhileRunning


class Section(BaseModel):
    """A table of the configuration: frozen, and no key beyond the known ones."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class PolicyAction(StrEnum):
    """What a policy does with the conversation it matches."""

    HANDOFF = "handoff"
    SUSPEND = "suspend"


def _check_data_dir(value: Path) -> Path:
    check_filled(str(value) if value != Path() else "")
    return value


def _check_hours(value: str) -> str:
    try:
        parse_hours(value)
    except ValueError as error:
        raise fault(str(error)) from None
    return value


class ServerSettings(Section):
    """How the server is seen from outside and how it stops."""

    public_url: Annotated[str, if_given(check_root_url)] = Field(
        default="",
        description="The address the platforms reach this server under, for signatures behind proxies. "
        "Empty: the address it listens on.",
    )
    drain_seconds: Number = Field(
        default=15.0,
        ge=0,
        le=600,
        description="How long a stopping server waits for its running turns and sends.",
    )


class DatabaseSettings(Section):
    """Where everything is remembered."""

    url: Annotated[SecretStr, if_secret_given(check_database_url)] = Field(
        default=SecretStr(""),
        description="A PostgreSQL 15 or newer, postgresql://user:password@host:5432/database. "
        "Empty: the embedded server under data_dir.",
    )
    data_dir: Annotated[Path, AfterValidator(_check_data_dir)] = Field(
        default=Path(".onevoice"),
        description="The folder of the embedded server and of generated keys. A relative path starts at "
        "the working directory of the command, not at the configuration file.",
    )


class TurnSettings(Section):
    """When a customer has finished a thought, and what becomes of a running turn."""

    debounce_seconds: Number = Field(
        default=5.0,
        ge=0,
        le=300,
        description="The silence that ends a burst. 0: answer each message at once.",
    )
    max_wait_seconds: Number = Field(
        default=20.0,
        ge=0,
        le=3600,
        description="The longest a customer waits because they keep typing; not less than debounce_seconds.",
    )
    window_heuristics: Switch = Field(
        default=False,
        description="Whether a question or a long message halves the window and a bare greeting lengthens it; "
        "max_wait_seconds bounds it all the same.",
    )
    while_running: WhileRunning = Field(
        default=WhileRunning.DISCARD_UNLESS_WROTE,
        description="What a message does that arrives while a turn runs: enqueue sends the reply, "
        "then answers the new one; discard answers all together; discard_unless_wrote does so while no "
        "write tool ran; triage lets the finished reply wait for a decision.",
    )
    lease_seconds: Number = Field(
        default=30.0,
        ge=0.5,
        le=3600,
        description="How long a turn stays its worker's without a sign of life; renewed every third of it.",
    )
    burst_messages: Count = Field(
        default=50, ge=1, le=500, description="Most messages in one turn; the rest go into the next."
    )
    max_attempts: Count = Field(
        default=3, ge=1, le=20, description="Turns lost with their worker before a human is asked."
    )
    retry_for_seconds: Number = Field(
        default=300.0,
        ge=0,
        le=86400,
        description="How long agent errors are retried: after 1 s, doubling, at most 30 s apart. 0: never.",
    )
    transcription_deadline_seconds: Number = Field(
        default=30.0,
        ge=0,
        le=600,
        description="How long a turn waits for the transcription of its oldest audio.",
    )

    @model_validator(mode="after")
    def _wait_covers_debounce(self) -> Self:
        if self.max_wait_seconds < self.debounce_seconds:
            raise faults_of_keys(
                [("max_wait_seconds", "is less than turns.debounce_seconds; it must be at least as long")]
            )
        return self


class OutboxSettings(Section):
    """How sealed messages leave."""

    hold_seconds: Number = Field(
        default=0.0, ge=0, le=300, description="Operational delay of AI messages; nobody else's are held."
    )
    part_interval_seconds: Number = Field(
        default=1.2,
        ge=0,
        le=60,
        description="Between the parts of one reply; parts are never merged or dropped for pacing.",
    )
    while_held: WhileHeld = Field(
        default=WhileHeld.TRIAGE,
        description="What a message does that arrives while a sealed reply waits: triage asks the decider; "
        "release sends the reply, then answers; redo drops it and answers all together.",
    )
    hold_ladder_seconds: tuple[Annotated[Number, Field(gt=0, le=300)], ...] = Field(
        default=(0.3, 0.6, 1.2),
        max_length=10,
        description="The waits of a due reply while triage is undecided; after the last one it is "
        "parked. Empty: parked at once.",
    )
    send_timeout_seconds: Number = Field(
        default=10.0, ge=0.1, le=120, description="How long one call to a channel may take."
    )
    uncertain_wait_seconds: Number = Field(
        default=90.0,
        ge=0,
        le=86400,
        description="How long a message of unknown outcome waits for evidence from the channel.",
    )
    after_uncertain: AfterUncertain = Field(
        default=AfterUncertain.PARK,
        description="What becomes of it after that: park shows it to an operator; retry_once may double it.",
    )


class TriageSettings(Section):
    """Who decides over a reply that a newer message overtook."""

    use: Annotated[str, AfterValidator(check_decider)] = Field(
        default="rules",
        description='rules (offline; Portuguese, Spanish, English), llm, or your own "module:function".',
    )
    model: Annotated[str, AfterValidator(check_line)] = Field(
        default="", max_length=200, description='The model of llm, such as "anthropic:<model>".'
    )
    timeout_seconds: Number = Field(
        default=2.0,
        ge=0.05,
        le=60,
        description="How long one decision may take, within the hold and its ladder.",
    )

    @model_validator(mode="after")
    def _llm_has_a_model(self) -> Self:
        if self.use == "llm" and not self.model.strip():
            raise faults_of_keys(
                [("model", 'missing; triage.use = "llm" needs a model, such as "anthropic:<model>"')]
            )
        return self


class AgentSettings(Section):
    """Who proposes the answers."""

    use: Annotated[str, AfterValidator(check_agent)] = Field(
        default="builtin:demo",
        description='builtin:demo, builtin:echo, your own "module:attribute", or the URL of an HTTP agent. '
        "A module is imported with the configuration file's folder first on the path.",
    )
    timeout_seconds: Number = Field(
        default=60.0, ge=0.1, le=3600, description="How long one answer may take."
    )
    secret: SecretStr = Field(default=SecretStr(""), description="Signs the requests to an HTTP agent.")
    history_messages: Count = Field(
        default=50, ge=0, le=1000, description="How many earlier messages the agent sees."
    )
    transcribed_label: Annotated[str, AfterValidator(check_line)] = Field(
        default="[transcribed audio]",
        max_length=100,
        description='What marks a transcription in the agent\'s input, such as "[áudio transcrito]".',
    )
    burst_instructions: Annotated[str, AfterValidator(check_line)] = Field(
        default="The customer's last turn can be several messages that were sent one after the other: read them "
        "together, and answer once. Where they contradict each other, the later one holds. Texts in square brackets "
        "are marks of the system, such as [human colleague] before what a colleague wrote; never write such marks.",
        max_length=2000,
        description="What an agent of a library (pydantic-ai, ADK, LangGraph, OpenAI Agents) is told after its own "
        "instructions. Empty: nothing.",
    )
    takes_images: Switch = Field(
        default=False,
        description="Whether the agent's model is shown the customer's images; without it they are described.",
    )
    min_confidence: Number = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Below it the conversation goes to a human and the text becomes a suggestion.",
    )
    suggest_to_operators: Switch = Field(
        default=False, description="Whether the agent is asked for suggestions while a human answers."
    )


class HandoffSettings(Section):
    """What brings a human in, and what gives the conversation back."""

    idle_return_seconds: Number = Field(
        default=0.0,
        ge=0,
        le=30 * 86400,
        description="A conversation a human left quiet for so long goes back to the AI, unless it was taken "
        "with hold. 0: never.",
    )
    when_parked: Switch = Field(default=False, description="Whether a parked message also asks for a human.")
    failure_notice: Annotated[str, AfterValidator(check_line)] = Field(
        default="",
        max_length=1000,
        description="What the customer is told when the agent fails for good. Empty: nothing.",
    )
    opt_out_words: tuple[str, ...] = Field(
        default=("stop", "sair", "parar", "pare", "salir", "unsubscribe", "descadastrar"),
        max_length=100,
        description="A message that is exactly one of these suspends the AI with customer_request.",
    )
    carry_out_promises: Switch = Field(
        default=False,
        description="Whether a reply that promises a human, without asking for one, hands off as well.",
    )
    loop_turns_per_minute: Count = Field(
        default=20,
        ge=2,
        le=10000,
        description="More turns than this in one minute suspend a conversation as loop_suspected.",
    )


class BrokerSettings(Section):
    """RabbitMQ for wake-ups between machines; not built yet."""

    url: Annotated[SecretStr, if_secret_given(check_not_built)] = Field(
        default=SecretStr(""),
        description="amqp://… Not built yet: leave it empty, PostgreSQL alone does the work.",
    )


class RedisSettings(Section):
    """Redis for shared latches and live feeds; not built yet."""

    url: Annotated[SecretStr, if_secret_given(check_not_built)] = Field(
        default=SecretStr(""),
        description="redis://… Not built yet: leave it empty, PostgreSQL alone does the work.",
    )


class PolicySettings(Section):
    """A rule that hands a conversation to a human, or suspends it, before the AI answers."""

    name: Annotated[str, AfterValidator(check_name)] = Field(
        description="What the journal and the operator see; unique."
    )
    match: Annotated[str, if_given(check_regular_expression)] = Field(
        default="", max_length=1000, description="A regular expression searched in the customer's text."
    )
    hours: Annotated[str, if_given(_check_hours)] = Field(
        default="",
        max_length=300,
        description='When the policy applies: "mon-fri 09:00-18:00, sat 09:00-13:00 America/Sao_Paulo"; '
        'with "outside" in front, at all other times. An end before its start is on the next day. '
        "With match as well, both must hold.",
    )
    channels: tuple[ChannelName, ...] = Field(
        default=(), max_length=1000, description="The channels it applies to, by name. Empty: all."
    )
    action: PolicyAction = Field(
        description="handoff asks for a human; suspend stops the AI in this conversation."
    )
    note: Annotated[str, AfterValidator(check_line)] = Field(
        default="", max_length=500, description="A sentence for the operator."
    )

    @model_validator(mode="after")
    def _has_a_condition(self) -> Self:
        if not self.match and not self.hours:
            raise faults_of_keys([("match", "missing; give match, hours, or both")])
        return self

    @property
    def parsed_hours(self) -> Hours | None:
        return parse_hours(self.hours) if self.hours else None


class NotifySettings(Section):
    """Who is told when something needs a human."""

    url: Annotated[SecretStr, if_secret_given(check_http_url)] = Field(
        default=SecretStr(""), description="Where notifications are posted as JSON. Empty: nowhere."
    )
    secret: SecretStr = Field(default=SecretStr(""), description="Signs the notifications.")
