"""Every metric of onevoice, and the set-up of its log.

Metrics live in a registry of their own: two runtimes in one process never mix their counts. Labels carry ids
and codes only, never what a customer wrote, a token or a phone number.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypedDict

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.registry import Collector

from onevoice.log_format import configure_logging

__all__ = [
    "DEFINITIONS",
    "Distribution",
    "MetricDefinition",
    "Series",
    "Telemetry",
    "configure_logging",
    "metrics_page",
]

_PREFIX = "onevoice_"
_FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_HUMAN = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDefinition:
    """One metric. ``name`` is the attribute of ``Telemetry`` and, with prefix and suffix, the exposed name.

    ``labels`` maps each label to its closed set of values; an empty set means that codes or names are open.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    buckets: tuple[float, ...] = ()

    @property
    def exposed_name(self) -> str:
        return f"{_PREFIX}{self.name}_total" if self.kind == "counter" else f"{_PREFIX}{self.name}"


DEFINITIONS: tuple[MetricDefinition, ...] = (
    MetricDefinition(
        name="inbound",
        kind="counter",
        labels={"channel": (), "outcome": ("accepted", "duplicate", "ignored")},
        help="Items of webhooks: stored for the first time, seen before, or nothing to act on.",
    ),
    MetricDefinition(
        name="turns",
        kind="counter",
        labels={"verdict": (), "reason": ()},
        help="Turns that ended, by the gate's verdict and its reason. Stale work has reasons of its own.",
    ),
    MetricDefinition(
        name="agent_calls",
        kind="counter",
        labels={"outcome": ()},
        help="Calls to the agent that ended: proposal, cancelled, or the error's reason.",
    ),
    MetricDefinition(
        name="agent_calls_avoided",
        kind="counter",
        help="Messages that shared a turn with an earlier one, so that no call of their own was needed.",
    ),
    MetricDefinition(
        name="work_invalidated",
        kind="counter",
        labels={"reason": ()},
        help="Finished or running work that lost its right to an effect.",
    ),
    MetricDefinition(
        name="stale_blocked",
        kind="counter",
        labels={"at": ("gate", "send", "effect")},
        help="Stale effects stopped, by the check that stopped them.",
    ),
    MetricDefinition(
        name="duplicates_intercepted",
        kind="counter",
        labels={"kind": ("inbound", "outbound", "effect")},
        help="Second deliveries, sends and writes that were recognised and did nothing.",
    ),
    MetricDefinition(
        name="handoff_confirm_seconds",
        kind="histogram",
        buckets=(0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 60.0),
        help="From an operator's take to its confirmation, in-flight sends and writes resolved.",
    ),
    MetricDefinition(
        name="operator_corrections",
        kind="counter",
        labels={"kind": ("used", "edited", "replaced")},
        help="What operators did with the AI's suggestion when they answered.",
    ),
    MetricDefinition(
        name="ai_resumed",
        kind="counter",
        help="Conversations that returned to the AI (release, resume, idle return).",
    ),
    MetricDefinition(
        name="triage",
        kind="counter",
        labels={"decision": (), "decider": ()},
        help="Decisions about replies that a newer message overtook, by who decided.",
    ),
    MetricDefinition(
        name="triage_tokens",
        kind="counter",
        labels={"model": (), "kind": ("input", "output")},
        help="Tokens that the llm decider used, as its provider counted them.",
    ),
    MetricDefinition(
        name="media",
        kind="counter",
        labels={
            "kind": ("image", "audio", "video", "document", "sticker"),
            "outcome": ("stored", "failed", "retried"),
        },
        help="Tries to download a file that came with a message.",
    ),
    MetricDefinition(
        name="transcriptions",
        kind="counter",
        labels={"outcome": ("done", "silent", "failed", "retried"), "reason": ()},
        help="Tries to have a voice message transcribed; silent: nobody speaks in it.",
    ),
    MetricDefinition(
        name="transcription_seconds",
        kind="histogram",
        buckets=_HUMAN,
        help="From the arrival of a voice message to its words, or to the end of trying.",
    ),
    MetricDefinition(
        name="transcribed_seconds",
        kind="counter",
        help="Playing time of the audios that were transcribed, in seconds.",
    ),
    MetricDefinition(
        name="transcription_cost",
        kind="counter",
        help="What the transcriptions cost, at transcription.price_per_minute.",
    ),
    MetricDefinition(
        name="work_signs",
        kind="counter",
        labels={"outcome": ("shown", "failed")},
        help="Calls that mark a message as read and show that an answer is being written; a failure delays nothing.",
    ),
    MetricDefinition(
        name="outbound",
        kind="counter",
        labels={"author": ("ai", "operator", "device", "system"), "state": (), "reason": ()},
        help="States that outbound messages entered after sealing.",
    ),
    MetricDefinition(
        name="late_ai_send",
        kind="counter",
        help="AI messages whose sending began after a takeover was confirmed. Must be 0.",
    ),
    MetricDefinition(
        name="turn_lag_seconds",
        kind="histogram",
        buckets=_FAST,
        help="From the instant a turn was due to the agent's call.",
    ),
    MetricDefinition(
        name="webhook_seconds",
        kind="histogram",
        buckets=_FAST,
        help="From a webhook's arrival to its answer, commit included.",
    ),
    MetricDefinition(
        name="burst_gap_seconds",
        kind="histogram",
        buckets=_HUMAN,
        help="Between the messages of one burst: tells whether turns.debounce_seconds fits the customers.",
    ),
    MetricDefinition(
        name="bursts_split",
        kind="counter",
        help="Bursts that began within twice the debounce window after an answer.",
    ),
    MetricDefinition(
        name="divergence",
        kind="gauge",
        labels={"between": ("turn_timer", "outbox_channel", "outbox_broker")},
        help=(
            "Rows whose neighbours disagree for too long, as the latest reconciliation counted them. "
            "A gauge: it returns to 0 when they agree again."
        ),
    ),
    MetricDefinition(
        name="worker_failures",
        kind="counter",
        labels={"work": ()},
        help="Passes of a background worker that ended in an unexpected error; the next pass goes on.",
    ),
    MetricDefinition(
        name="turns_running",
        kind="gauge",
        help="Turns that this process works on now.",
    ),
    MetricDefinition(
        name="event_streams",
        kind="gauge",
        help="Server-sent event streams that are open now.",
    ),
)


class _WithoutCreated(Collector):
    """Leaves out the library's creation timestamps: they would be series that no page documents."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        for metric in self._registry.collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric


class Distribution(TypedDict):
    """A histogram in short: how many, and their sum."""

    count: float
    sum: float


class Series(TypedDict):
    """One labelled series of a metric."""

    labels: dict[str, str]
    value: float | Distribution


class Telemetry:
    """The metrics of one runtime, one attribute per entry of ``DEFINITIONS``."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._definitions = {definition.name: definition for definition in DEFINITIONS}
        self.inbound = self._counter("inbound")
        self.turns = self._counter("turns")
        self.agent_calls = self._counter("agent_calls")
        self.agent_calls_avoided = self._counter("agent_calls_avoided")
        self.work_invalidated = self._counter("work_invalidated")
        self.stale_blocked = self._counter("stale_blocked")
        self.duplicates_intercepted = self._counter("duplicates_intercepted")
        self.handoff_confirm_seconds = self._histogram("handoff_confirm_seconds")
        self.operator_corrections = self._counter("operator_corrections")
        self.ai_resumed = self._counter("ai_resumed")
        self.triage = self._counter("triage")
        self.triage_tokens = self._counter("triage_tokens")
        self.media = self._counter("media")
        self.transcriptions = self._counter("transcriptions")
        self.transcription_seconds = self._histogram("transcription_seconds")
        self.transcribed_seconds = self._counter("transcribed_seconds")
        self.transcription_cost = self._counter("transcription_cost")
        self.work_signs = self._counter("work_signs")
        self.outbound = self._counter("outbound")
        self.late_ai_send = self._counter("late_ai_send")
        self.turn_lag_seconds = self._histogram("turn_lag_seconds")
        self.webhook_seconds = self._histogram("webhook_seconds")
        self.burst_gap_seconds = self._histogram("burst_gap_seconds")
        self.bursts_split = self._counter("bursts_split")
        self.divergence = self._gauge("divergence")
        self.worker_failures = self._counter("worker_failures")
        self.turns_running = self._gauge("turns_running")
        self.event_streams = self._gauge("event_streams")

    def render(self) -> bytes:
        """The Prometheus text format."""
        return generate_latest(_WithoutCreated(self.registry))

    def as_json(self) -> dict[str, float | Distribution | list[Series]]:
        """The same figures by name without prefix: a number, a distribution, or a list of series."""
        metrics = {metric.name: metric for metric in _WithoutCreated(self.registry).collect()}
        return {
            definition.exposed_name.removeprefix(_PREFIX): _summary(
                metrics[_PREFIX + definition.name], definition
            )
            for definition in DEFINITIONS
        }

    def _counter(self, name: str) -> Counter:
        definition = self._definitions[name]
        counter = Counter(_PREFIX + name, definition.help, list(definition.labels), registry=self.registry)
        for labels in _closed_label_sets(definition):
            counter.labels(**labels)
        return counter

    def _gauge(self, name: str) -> Gauge:
        definition = self._definitions[name]
        gauge = Gauge(_PREFIX + name, definition.help, list(definition.labels), registry=self.registry)
        for labels in _closed_label_sets(definition):
            gauge.labels(**labels)
        return gauge

    def _histogram(self, name: str) -> Histogram:
        definition = self._definitions[name]
        return Histogram(
            _PREFIX + name,
            definition.help,
            list(definition.labels),
            buckets=definition.buckets,
            registry=self.registry,
        )


def _closed_label_sets(definition: MetricDefinition) -> Iterator[dict[str, str]]:
    """Series that exist from the start, so that an alert sees 0 and not an absent series."""
    if len(definition.labels) != 1:
        return
    for label, values in definition.labels.items():
        for value in values:
            yield {label: value}


def _summary(metric: Metric, definition: MetricDefinition) -> float | Distribution | list[Series]:
    figures: dict[tuple[tuple[str, str], ...], dict[str, float]] = {}
    for sample in metric.samples:
        if not sample.name.endswith("_bucket"):
            figure = figures.setdefault(tuple(sample.labels.items()), {})
            figure[sample.name.removeprefix(metric.name)] = sample.value

    def value(figure: dict[str, float]) -> float | Distribution:
        if definition.kind == "histogram":
            return {"count": figure["_count"], "sum": figure["_sum"]}
        return figure["_total" if definition.kind == "counter" else ""]

    if not definition.labels:
        return value(figures[()])
    return [{"labels": dict(labels), "value": value(figure)} for labels, figure in figures.items()]


def metrics_page() -> str:
    """docs/metrics.md, generated from ``DEFINITIONS``: `python -m onevoice.telemetry > docs/metrics.md`."""
    lines = [
        "# Metrics",
        "",
        "Generated from `onevoice.telemetry.DEFINITIONS`; a test compares it with what `/metrics` exposes.",
        "No label carries message content or a phone number. Counters start at 0 with the process.",
        "",
        "| metric | kind | labels | meaning |",
        "|---|---|---|---|",
    ]
    for definition in DEFINITIONS:
        labels = "; ".join(
            f"`{label}`" + (" = " + ", ".join(f"`{value}`" for value in values) if values else "")
            for label, values in definition.labels.items()
        )
        lines.append(f"| `{definition.exposed_name}` | {definition.kind} | {labels} | {definition.help} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(metrics_page())
