"""Inference events of a served policy become a row per part, warm-up apart."""

import json

import pytest

from interlock.messages import Event
from interlock.operators.inference import measure_inferences
from interlock.operators.profile_page import page


def say(plant, at_ms, **data):
    plant.send("policy/event", Event(kind="inference", text="", data=json.dumps(data)), at_ms=at_ms)


@pytest.fixture
def parts(plant):
    say(plant, 5, warmup=True, roundtrip_ms=9000.0, preprocess_ms=500.0)
    for i in range(3):
        server = {"server_timing.infer_ms": 80.0 + i, "policy_timing.infer_ms": 70.0}
        say(
            plant,
            100 * i + 100,
            warmup=False,
            preprocess_ms=2.0,
            roundtrip_ms=90.0,
            network_ms=10.0 - i,
            server_ms=server,
            postprocess_ms=0.5,
            age_ms=150.0 if i else None,
        )
    return measure_inferences(plant.trace())


def test_each_part_has_a_row_in_the_order_in_which_it_happens(parts):
    assert [(p.part, p.count, p.p50_ms) for p in parts] == [
        ("warm-up round trip", 1, 9000.0),
        ("preprocessing", 3, 2.0),
        ("round trip", 3, 90.0),
        ("network", 3, 9.0),
        ("server policy_timing.infer_ms", 3, 70.0),
        ("server server_timing.infer_ms", 3, 81.0),
        ("postprocessing", 3, 0.5),
        ("age at execution", 2, 150.0),
    ]


def test_the_warm_up_counts_in_no_other_row(parts):
    assert max(p.max_ms for p in parts[1:]) == 150.0


def test_the_page_shows_a_table_and_a_plot_per_part(parts):
    html = page({}, [], [], parts)
    assert html.count("<svg") == len(parts)
    assert "policy: age at execution" in html


@pytest.mark.parametrize("data", ["no json", "[]", '{"preprocess_ms": "x", "server_ms": 3}'])
def test_an_event_that_says_nothing_useful_is_left_out(plant, data):
    plant.send("policy/event", Event(kind="inference", text="", data=data), at_ms=1)
    assert measure_inferences(plant.trace()) == []


def test_a_run_without_a_served_policy_has_none(plant, make):
    plant.send("sim/state", make.state(), at_ms=1)
    assert measure_inferences(plant.trace()) == []
