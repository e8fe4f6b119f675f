import contextlib
import urllib.error
import urllib.request

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from interlock.messages.errors import SettingsError
from interlock.robots.bridge import BridgeSettings


def http(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url.replace("ws://", "http://"), timeout=5) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_the_metadata_says_what_a_client_has_to_do(serve) -> None:
    client = serve().dial()
    assert client.metadata["claim_required"] is True
    assert client.metadata["control_rate"] == 50


def test_compression_is_declined(serve) -> None:
    client = serve().dial()
    assert "Sec-WebSocket-Extensions" not in client.socket.response.headers


def test_health_is_one_request(serve) -> None:
    assert http(serve().url + "/healthz") == (200, "OK\n")


def test_a_page_of_a_browser_is_turned_away(serve) -> None:
    with pytest.raises(InvalidStatus, match="403"):
        serve().dial(origin="http://evil.example")


def test_a_token_opens_the_door_in_a_header_or_the_address(serve) -> None:
    served = serve(token="s3cret")
    with pytest.raises(InvalidStatus, match="401"):
        served.dial()
    header = {"Authorization": "Bearer s3cret"}
    assert served.dial(additional_headers=header).metadata["server"] == "interlock"
    served.url += "/?token=s3cret"
    assert served.dial().metadata["server"] == "interlock"


def test_too_many_connections_are_turned_away(serve) -> None:
    served = serve(max_connections=1)
    served.dial()
    with pytest.raises(InvalidStatus, match="503"):
        served.dial()


def test_other_machines_need_a_token() -> None:
    with pytest.raises(SettingsError, match=r"0\.0\.0\.0.*set a token"):
        BridgeSettings(host="0.0.0.0")
    assert BridgeSettings(host="0.0.0.0", token="x").token == "x"
    assert BridgeSettings(host="::1").host == "::1"


def test_every_wait_is_finite() -> None:
    with pytest.raises(SettingsError, match="action_timeout_s inf"):
        BridgeSettings(action_timeout_s=float("inf"))


def test_a_stopping_bridge_says_so(serve) -> None:
    served = serve()
    client = served.driven()
    served.server.stop()
    assert client.read()["error"]["code"] == "stopping"
    assert client.closed() == 1001


def test_large_observations_pass_and_a_huge_frame_is_refused_with_its_size(serve, arm) -> None:
    image = {"role": "observation", "type": "rgb", "dtype": "uint8"}
    shapes = {"front": [480, 640, 3], "left": [256, 256, 3], "right": [256, 256, 3]}
    cameras = {name: {**image, "shape": shape} for name, shape in shapes.items()}

    class Seeing(arm):
        def describe(self) -> dict:
            return {"features": {**cameras, **arm.contract["features"]}}

        def get_observation(self) -> tuple:
            data, ended = super().get_observation()
            pictures = {name: np.zeros(shape, np.uint8) for name, shape in shapes.items()}
            return {**pictures, **data}, ended

    served = serve([Seeing(), Seeing()])
    witness, client = served.driven(), served.driven()
    assert client.act(0, 0)["front"].shape == (480, 640, 3)
    with contextlib.suppress(ConnectionClosed):
        client.send(bytes(300 * 2**20))
    assert client.closed() == 1009
    assert "16777216" in client.socket.close_reason
    assert witness.act(0, 0)["meta"]["seq"] == 1
