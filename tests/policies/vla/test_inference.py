"""What an inference cost, against a real server: parts, the server's own keys, warm-up apart."""

import time

import pytest

from interlock.policies.vla.asker import Asker
from interlock.policies.vla.client import PolicyClient
from interlock.policies.vla.inference import Inference, server_total_ms
from interlock.policies.vla.pilot import Pilot
from interlock.policies.vla.preset_files import load_preset
from interlock.policies.vla.servers.behaviour import Stub
from interlock.policies.vla.servers.stand import Stand, serving


@pytest.fixture
def inferences(panda, snapshot):
    stand = Stand(kind="openpi", behaviour=Stub(horizon=10, width=8, value=0.5))
    with serving(stand) as url:
        loaded = load_preset("interlock/panda", environment={"INTERLOCK_VLA_URL": url})
        asker = Asker(lambda: PolicyClient(loaded.wire))
        pilot = Pilot(loaded, panda, asker)
        while not pilot.get_ready(snapshot, "episode", 0):
            time.sleep(0.005)
        pilot.step(snapshot, 20_000_000)
        while asker.busy:
            pilot.step(snapshot, 20_000_000)
            time.sleep(0.005)
        asker.close()
    return pilot.inferences


def test_every_part_is_measured_and_the_warm_up_is_marked(inferences):
    warmup, first = inferences[:2]
    assert (warmup.warmup, first.warmup) == (True, False)
    assert first.server_ms == {"server_timing.infer_ms": 0.1}
    assert min(first.preprocess_ms, first.roundtrip_ms, first.postprocess_ms) > 0.0
    assert first.network_ms() == pytest.approx(first.roundtrip_ms - 0.1)


def test_the_age_is_from_the_observation_to_the_first_command_that_rests_on_it():
    one = Inference(
        observation=3,
        observed_ns=1_000_000,
        warmup=False,
        preprocess_ms=1.0,
        roundtrip_ms=5.0,
        server_ms={},
        postprocess_ms=1.0,
    )
    assert one.to_json(41_000_000)["age_ms"] == 40.0
    assert one.to_json(None)["age_ms"] is None
    assert one.to_json(None)["network_ms"] is None


def test_the_time_of_the_request_before_is_not_this_request_s():
    timing = {"server_timing.prev_total_ms": 900.0, "server_timing.infer_ms": 80.0}
    assert server_total_ms(timing) == 80.0
