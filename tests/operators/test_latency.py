"""Edges measured from stamps: hand-computed figures, budgets and the page."""

import re

import pytest

from interlock.messages import Command, SettingsError
from interlock.operators.budgets import Budget, read_budgets, violations
from interlock.operators.latency import measure
from interlock.operators.profile_page import page


@pytest.fixture
def run(plant, make):
    """State at 100 Hz, 2 ms old in truth; the policy uses every second one, 3 or 5 ms late."""
    for i in range(10):
        seen = plant.send("sim/state", make.state(), at_ms=10 * i, observed_ms=10 * i - 2)
        if i % 2 == 0:
            late = object.__new__(type(seen))
            for name in ("message", "stamp", "output"):
                object.__setattr__(late, name, getattr(seen, name))
            wire_ns = 3_000_000 if i % 4 == 0 else 5_000_000
            object.__setattr__(late, "received_ns", seen.stamp.sent_ns + wire_ns)
            command = Command(task="t", space="hold")
            plant.send("policy/command", command, at_ms=10 * i + 6, basis=[late])
    return plant


def edge(trace, name):
    return next(e for e in measure(trace) if e.name == name)


def test_latency_is_from_sending_to_receiving_as_the_consumer_saw_it(run):
    found = edge(run.trace(), "sim/state -> policy")
    assert (found.count, found.p50_ms, found.max_ms) == (5, 3.0, 5.0)
    assert found.jitter_ms == pytest.approx(2.0)
    assert found.rate_hz == pytest.approx(50.0)


def test_age_is_of_the_observation_when_the_decision_left(run):
    found = edge(run.trace(), "sim/state -> policy")
    assert (found.age_p50_ms, found.age_max_ms) == (8.0, 8.0)


def test_messages_that_the_consumer_passed_over_are_counted(run):
    found = edge(run.trace(), "sim/state -> policy")
    assert (found.unused, found.drops) == (4, 0)


def test_messages_that_never_arrived_are_drops_of_the_output(plant, make):
    plant.send("sim/state", make.state(), at_ms=1)
    plant.lose("sim/state", 3)
    plant.send("sim/state", make.state(), at_ms=9)
    found = edge(plant.trace(), "sim/state -> trace")
    assert (found.count, found.drops, found.p50_ms) == (2, 3, 0.5)


def test_a_sender_that_restarts_is_measured_in_both_lives(plant, make):
    for at_ms in (0, 100):
        plant.seqs["sim/state"] = 0
        seen = plant.send("sim/state", make.state(), at_ms=at_ms, wire_ms=1 + at_ms / 100)
        plant.send("policy/command", Command(task="t", space="hold"), at_ms=at_ms + 5, basis=[seen])
    found = edge(plant.trace(), "sim/state -> policy")
    assert (found.count, found.max_ms, found.drops) == (2, 2.0, 0)


def test_a_broken_budget_is_named_with_value_and_limit(run):
    edges = measure(run.trace())
    budget = Budget(p99_ms=4.0, max_age_ms=20.0, unused=0)
    assert violations(edges, {"sim/state -> policy": budget}) == [
        "sim/state -> policy: p99 latency 5 ms, budget 4 ms",
        "sim/state -> policy: messages never used: 4, budget 0",
    ]


def test_an_edge_that_never_spoke_breaks_its_budget(run):
    [sentence] = violations(measure(run.trace()), {"sim/stat -> policy": Budget(drops=0)})
    assert "no message was seen; did you mean 'sim/state -> policy'?" in sentence


def test_a_budget_file_with_an_unknown_key_is_refused(tmp_path):
    file = tmp_path / "budgets.yml"
    file.write_text("budgets:\n  a/b -> c: {p99: 5}\n")
    with pytest.raises(SettingsError, match=r"a/b -> c: unknown key 'p99'; did you mean 'p99_ms'"):
        read_budgets(file)


def test_the_page_holds_a_plot_per_edge_and_loads_nothing(run):
    trace = run.trace()
    edges = measure(trace)
    html = page(trace.meta, edges, ["sim/state -> policy: too slow"])
    assert html.count("<svg") == len(edges) == 3
    assert "too slow" in html
    assert not re.search(r"(src|href)=|https?:|@import|url\(", html)


def test_names_can_put_no_markup_into_the_page(plant, make):
    plant.send("<script>/state", make.state(), at_ms=1)
    trace = plant.trace()
    assert "<script>" not in page(trace.meta, measure(trace), [])


def test_an_empty_trace_has_no_edges(plant):
    assert measure(plant.trace()) == []
