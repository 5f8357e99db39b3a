"""The registry of metrics, what is exposed, and the page that documents it."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.parser import text_string_to_metric_families

from onevoice.telemetry import DEFINITIONS, Telemetry, metrics_page

ROOT = Path(__file__).resolve().parents[2]
BOUNDARY: dict[str, set[str]] = {
    "onevoice_inbound_total": {"channel", "outcome"},
    "onevoice_turns_total": {"verdict", "reason"},
    "onevoice_agent_calls_total": {"outcome"},
    "onevoice_agent_calls_avoided_total": set(),
    "onevoice_work_invalidated_total": {"reason"},
    "onevoice_stale_blocked_total": {"at"},
    "onevoice_duplicates_intercepted_total": {"kind"},
    "onevoice_handoff_confirm_seconds": set(),
    "onevoice_operator_corrections_total": {"kind"},
    "onevoice_ai_resumed_total": set(),
    "onevoice_triage_total": {"decision", "decider"},
    "onevoice_outbound_total": {"author", "state", "reason"},
    "onevoice_late_ai_send_total": set(),
    "onevoice_turn_lag_seconds": set(),
    "onevoice_webhook_seconds": set(),
    "onevoice_burst_gap_seconds": set(),
    "onevoice_bursts_split_total": set(),
    "onevoice_divergence": {"between"},
}


def touch_everything(telemetry: Telemetry) -> None:
    for definition in DEFINITIONS:
        metric = getattr(telemetry, definition.name)
        assert isinstance(metric, Counter | Gauge | Histogram)
        series = metric.labels(**dict.fromkeys(definition.labels, "x")) if definition.labels else metric
        if isinstance(series, Histogram):
            series.observe(0.02)
        else:
            series.inc(2)


@pytest.mark.parametrize("name", BOUNDARY)
def test_each_boundary_metric_has_the_published_name_and_labels(name: str) -> None:
    """The names that dashboards rely on are the contract's, with exactly their labels."""
    [definition] = [each for each in DEFINITIONS if each.exposed_name == name]

    assert set(definition.labels) == BOUNDARY[name]


def test_every_definition_is_an_attribute_and_every_attribute_is_defined() -> None:
    """No metric exists beside the registry of definitions, and none is only defined."""
    telemetry = Telemetry()
    attributes = {
        name for name, value in vars(telemetry).items() if isinstance(value, Counter | Gauge | Histogram)
    }

    assert attributes == {definition.name for definition in DEFINITIONS}


def test_what_is_exposed_is_what_is_defined() -> None:
    """Each sample belongs to a definition and each definition has a sample once it was used."""
    telemetry = Telemetry()
    touch_everything(telemetry)

    exposed = {
        sample.name.removesuffix("_bucket").removesuffix("_count").removesuffix("_sum")
        for family in text_string_to_metric_families(telemetry.render().decode())
        for sample in family.samples
    }

    assert exposed == {definition.exposed_name for definition in DEFINITIONS}


def test_the_page_is_the_generated_one() -> None:
    """docs/metrics.md is what the definitions generate."""
    assert (ROOT / "docs" / "metrics.md").read_text() == metrics_page()


def test_two_runtimes_do_not_share_counts() -> None:
    """A registry belongs to one runtime, not to the process."""
    first, second = Telemetry(), Telemetry()
    first.late_ai_send.inc()

    assert first.as_json()["late_ai_send_total"] == 1
    assert second.as_json()["late_ai_send_total"] == 0


def test_closed_label_sets_start_at_zero() -> None:
    """An alert on stale work sees a 0 before anything happened."""
    text = Telemetry().render().decode()

    assert 'onevoice_stale_blocked_total{at="send"} 0.0' in text
    assert 'onevoice_divergence{between="outbox_channel"} 0.0' in text
    assert "onevoice_late_ai_send_total 0.0" in text


def test_json_has_a_number_a_distribution_or_a_list_per_metric() -> None:
    """The JSON form keeps labels and shortens histograms to count and sum."""
    telemetry = Telemetry()
    touch_everything(telemetry)
    figures = telemetry.as_json()

    assert figures["ai_resumed_total"] == 2
    assert figures["webhook_seconds"] == {"count": 1, "sum": 0.02}
    assert figures["triage_total"] == [{"labels": {"decision": "x", "decider": "x"}, "value": 2}]
    assert figures["burst_gap_seconds"] == {"count": 1, "sum": 0.02}
    assert {"labels": {"between": "x"}, "value": 2} in figures["divergence"]  # pyright: ignore[reportOperatorIssue]
    assert set(figures) == {each.exposed_name.removeprefix("onevoice_") for each in DEFINITIONS}
