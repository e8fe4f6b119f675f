"""The host for LeRobot policies: what it makes of a preset's observation, over a real socket."""

import asyncio
import http.server
import threading

import numpy as np
import pytest

from interlock.policies.vla.client import PolicyClient
from interlock.policies.vla.errors import PolicyServerError
from interlock.policies.vla.observation import ObservationBuilder
from interlock.policies.vla.preset_files import load_preset
from interlock.policies.vla.servers.lerobot_host import STATE, make_handler, picture, state_vector
from interlock.policies.vla.wire import WireSettings


@pytest.fixture
def hosted():
    """Serve a function as the policy; gives what asks it."""
    servers = []

    def host(predict):
        handler = make_handler(predict, lambda: None)
        server = http.server.HTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"

        async def ask(observation):
            async with PolicyClient(WireSettings(kind="http-json", url=url)) as client:
                await client.reset("one")
                return await client.infer(observation, observation_id=0)

        return lambda observation: asyncio.run(ask(observation)).reply

    yield host
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_libero_preset_arrives_as_the_policy_was_trained(hosted, panda, snapshot):
    seen = {}

    def predict(observation):
        seen["state"] = state_vector(observation["state"], STATE)
        seen["images"] = {k: picture(v) for k, v in observation["images"].items()}
        return np.zeros((10, 7))

    ask = hosted(predict)
    preset = load_preset("lerobot/smolvla_libero")
    reply = ask(ObservationBuilder(preset, panda).build(snapshot))
    assert reply.actions.shape == (10, 7)
    assert reply.timing_ms["latency_ms"] >= 0
    turn = np.deg2rad(30) * np.array([1, 2, 3]) / np.sqrt(14)
    expected = [*snapshot.state["hand_position"], *turn, 0.03, -0.03]
    np.testing.assert_allclose(seen["state"], expected, atol=1e-9)
    assert sorted(seen["images"]) == ["image", "image2"]
    assert seen["images"]["image"].shape == (3, 480, 640)
    assert seen["images"]["image"].max() == 1.0


def test_an_error_of_the_model_is_one_line(hosted):
    def predict(observation):
        raise KeyError("observation.state")

    with pytest.raises(PolicyServerError, match=r"HTTP 500 .*KeyError: .*observation\.state"):
        hosted(predict)({"task": "x"})
