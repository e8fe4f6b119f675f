"""Every wire against a real server over a real socket: answers, faults, budgets, limits."""

import asyncio
import time

import numpy as np
import pytest

from interlock.policies.vla.client import PolicyClient
from interlock.policies.vla.errors import (
    PolicyConnectionError,
    PolicyError,
    PolicyServerError,
    PolicyTimeoutError,
    ReplyError,
)
from interlock.policies.vla.servers.behaviour import Replay, Stub
from interlock.policies.vla.servers.faults import Faults
from interlock.policies.vla.servers.stand import Stand, serving
from interlock.policies.vla.wire import WireSettings

WIRES = ["openpi", "xpolicylab", "openvla", "gr00t", "http-json"]
SOCKETS = ["openpi", "xpolicylab", "openvla", "http-json"]
OBSERVATION = {"state": np.linspace(0, 1, 8, dtype=np.float32), "prompt": "pick up the cup"}
CHUNK = np.arange(12, dtype=np.float32).reshape(3, 4)


def settings_for(kind, url, **changes):
    fast = {"connect_budget_s": 5, "warmup_budget_s": 5, "step_budget_s": 2, "close_budget_s": 0.2}
    keys = {"action_keys": ("arm", "gripper")} if kind == "gr00t" else {}
    return WireSettings(kind=kind, url=url, connect_retry_s=0.05, **{**fast, **keys, **changes})


def stand_for(kind, **changes):
    keys = {"arm": 3, "gripper": 1} if kind == "gr00t" else {}
    return Stand(kind=kind, behaviour=Replay(CHUNK[np.newaxis]), action_keys=keys, **changes)


def ask(kind, stand, *, times=1, token=None, observation=OBSERVATION, **changes):
    """Serve, connect, reset and infer; return every answer."""

    async def talk(url):
        async with PolicyClient(settings_for(kind, url, **changes), token) as client:
            await client.reset("episode-1")
            return [await client.infer(observation, observation_id=i) for i in range(times)]

    with serving(stand) as url:
        return asyncio.run(talk(url))


@pytest.mark.parametrize("kind", WIRES)
def test_a_chunk_comes_back_with_its_values_and_its_observation(kind):
    answers = ask(kind, stand_for(kind), times=3)
    assert [a.observation_id for a in answers] == [0, 1, 2]
    assert [a.warmup for a in answers] == [True, False, False]
    for answer in answers:
        np.testing.assert_array_equal(answer.reply.actions, CHUNK)


@pytest.mark.parametrize("kind", WIRES)
def test_the_observation_arrives_as_it_was_sent(kind):
    stand = stand_for(kind)
    image = np.arange(4 * 4 * 3, dtype=np.uint8).reshape(4, 4, 3)
    ask(kind, stand, observation={"image": image, "prompt": "stack"})
    [seen] = stand.requests
    np.testing.assert_array_equal(seen["image"], image)
    assert seen["prompt"] == "stack"


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", ">f4", "int64", "list"])
@pytest.mark.parametrize("kind", ["openpi", "openvla", "http-json"])
def test_every_number_format_becomes_native_floats(kind, dtype):
    [answer] = ask(kind, stand_for(kind, faults=Faults(dtype=dtype)))
    actions = answer.reply.actions
    assert actions.dtype.isnative
    assert actions.dtype in (np.float32, np.float64)
    np.testing.assert_array_equal(actions, CHUNK)


@pytest.mark.parametrize("kind", WIRES)
def test_a_value_that_is_not_finite_is_refused_by_field_row_and_column(kind):
    with pytest.raises(ReplyError, match=r"row 1, column \d is nan; 1 of \d+ values"):
        ask(kind, stand_for(kind, faults=Faults(nan=True)))


@pytest.mark.parametrize("kind", WIRES)
def test_an_error_of_the_server_is_one_line_without_its_files(kind):
    with pytest.raises(PolicyServerError) as caught:
        ask(kind, stand_for(kind, faults=Faults(error=True)))
    text = str(caught.value)
    assert "KeyError: 'observation/wrist_image'" in text
    assert "prompt, state" in text
    assert "secret_path" not in text
    assert "secret_path" in caught.value.detail
    assert "\n" not in text


@pytest.mark.parametrize("kind", WIRES)
def test_bytes_that_are_no_message_are_refused(kind):
    with pytest.raises(ReplyError, match="not valid"):
        ask(kind, stand_for(kind, faults=Faults(garbage=True)))


@pytest.mark.parametrize("kind", SOCKETS)
def test_a_server_that_closes_is_named(kind):
    with pytest.raises(PolicyConnectionError, match=r"127\.0\.0\.1"):
        ask(kind, stand_for(kind, faults=Faults(closes=True)))


@pytest.mark.parametrize("kind", SOCKETS)
def test_a_message_over_the_limit_is_refused_with_the_limit(kind):
    stand = stand_for(kind, faults=Faults(huge_bytes=200_000))
    with pytest.raises(
        PolicyError, match=r"over .*100000.*max_frame_bytes|max_frame_bytes.*100000"
    ):
        ask(kind, stand, max_frame_bytes=100_000)


@pytest.mark.parametrize("kind", WIRES)
def test_an_observation_over_the_limit_is_not_sent(kind):
    large = {"image": np.zeros((200, 200, 3), np.uint8)}
    with pytest.raises(ReplyError, match=r"observation is \d+ bytes, limit 100000; resize"):
        ask(kind, stand_for(kind), observation=large, max_frame_bytes=100_000)


@pytest.mark.parametrize("kind", ["openpi", "openvla"])
def test_pictures_larger_than_a_library_default_pass(kind):
    camera = {f"camera{i}": np.zeros((480, 640, 3), np.uint8) for i in range(3)}
    [answer] = ask(kind, stand_for(kind), observation=camera)
    assert answer.reply.actions.shape == CHUNK.shape


@pytest.mark.parametrize("kind", WIRES)
def test_a_server_that_is_late_is_dropped_and_its_answer_never_used(kind):
    first, second = np.zeros((1, 2, 4), np.float32), np.ones((1, 2, 4), np.float32)
    stand = stand_for(kind, faults=Faults(late_s=0.6))
    stand.behaviour = Replay(np.concatenate([first, second]))

    async def talk(url):
        client = PolicyClient(settings_for(kind, url, warmup_budget_s=0.2), None)
        with pytest.raises(PolicyTimeoutError, match=r"within 0\.2 s \(wire\.warmup_budget_s\)"):
            await client.infer(OBSERVATION, observation_id=0)
        client._settings = settings_for(kind, url)
        answer = await client.infer(OBSERVATION, observation_id=1)
        await client.close()
        return answer, client.counts

    with serving(stand) as url:
        answer, counts = asyncio.run(talk(url))
    assert answer.observation_id == 1
    assert np.all(answer.reply.actions == 1)
    assert (counts.timeouts, counts.connections) == (1, 2)


@pytest.mark.parametrize("kind", WIRES)
def test_a_slow_first_answer_has_a_budget_of_its_own(kind):
    stand = stand_for(kind, faults=Faults(slow_first_s=0.7))
    first, second = ask(kind, stand, times=2, step_budget_s=0.5, warmup_budget_s=5)
    assert first.warmup
    assert first.roundtrip_s >= 0.7
    assert not second.warmup


def test_nobody_listening_is_named_with_the_way_out():
    settings = settings_for("openpi", "ws://127.0.0.1:9", connect_budget_s=0.3)
    with pytest.raises(
        PolicyTimeoutError, match=r"ws://127\.0\.0\.1:9 within 0\.3 s.*INTERLOCK_VLA_URL"
    ):
        asyncio.run(PolicyClient(settings).connect())


@pytest.mark.parametrize("kind", ["openpi", "openvla", "gr00t", "http-json"])
def test_a_wrong_token_is_refused_and_the_right_one_passes(kind):
    [answer] = ask(kind, stand_for(kind, token="s3cret"), token="s3cret")
    assert answer.reply.actions.shape == CHUNK.shape
    with pytest.raises(PolicyError) as caught:
        ask(kind, stand_for(kind, token="s3cret"), token="wrong")
    assert "s3cret" not in str(caught.value)


def test_a_proxy_in_the_environment_is_not_used(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "ws_proxy", "WS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for kind in SOCKETS:
        [answer] = ask(kind, stand_for(kind))
        assert answer.reply.actions.shape == CHUNK.shape


def test_a_lost_connection_is_made_again_unless_told_never():
    async def talk(url, reconnect):
        settings = settings_for("openpi", url, reconnect=reconnect)
        async with PolicyClient(settings) as client:
            with pytest.raises(PolicyConnectionError):
                await client.infer(OBSERVATION, observation_id=0)
            return await client.infer(OBSERVATION, observation_id=1)

    with serving(stand_for("openpi", faults=Faults(closes=True))) as url:
        assert asyncio.run(talk(url, "between_inferences")).observation_id == 1
    with (
        serving(stand_for("openpi", faults=Faults(closes=True))) as url,
        pytest.raises(PolicyConnectionError, match=r"wire\.reconnect is never"),
    ):
        asyncio.run(talk(url, "never"))


def test_a_server_started_later_is_found():
    with serving(stand_for("openpi")) as url:
        port = int(url.rsplit(":", 1)[1])

    async def talk():
        client = PolicyClient(settings_for("openpi", url))
        connecting = asyncio.create_task(client.connect())
        await asyncio.sleep(0.2)
        with serving(stand_for("openpi", metadata={"hello": 1}), port=port):
            metadata = await connecting
            await client.close()
        return metadata

    assert asyncio.run(talk()) == {"hello": 1}


def test_metadata_of_the_server_is_read():
    async def talk(url):
        async with PolicyClient(settings_for("openpi", url)) as client:
            return client.metadata

    with serving(stand_for("openpi", metadata={"reset_pose": [0.0, 1.0]})) as url:
        assert asyncio.run(talk(url)) == {"reset_pose": [0.0, 1.0]}


def test_callers_wait_their_turn_and_get_their_own_answers():
    async def talk(url):
        async with PolicyClient(settings_for("openpi", url)) as client:
            asked = [client.infer(OBSERVATION, observation_id=i) for i in range(8)]
            return await asyncio.gather(*asked)

    chunks = np.arange(8, dtype=np.float32).repeat(2).reshape(8, 1, 2)
    with serving(Stand(kind="openpi", behaviour=Replay(chunks))) as url:
        answers = asyncio.run(talk(url))
    assert [a.reply.actions[0, 0] for a in answers] == list(range(8))


def test_a_model_in_this_process_is_asked_and_its_errors_are_its_own():
    class Model:
        def infer(self, observation):
            if "image" in observation:
                raise KeyError("state")
            return {"actions": CHUNK}

    from interlock.policies.vla.wires.inprocess import InprocessWire

    settings = settings_for("inprocess", "here")

    async def talk(observation):
        client = PolicyClient(settings, wire=InprocessWire(settings, model=Model()))
        async with client:
            return await client.infer(observation, observation_id=0)

    np.testing.assert_array_equal(asyncio.run(talk(OBSERVATION)).reply.actions, CHUNK)
    with pytest.raises(PolicyServerError, match="KeyError"):
        asyncio.run(talk({"image": 1}))


def test_a_model_that_hangs_costs_one_budget():
    class Model:
        def infer(self, observation):
            time.sleep(0.5)
            return {"actions": CHUNK}

    from interlock.policies.vla.wires.inprocess import InprocessWire

    settings = settings_for("inprocess", "here", warmup_budget_s=0.1)

    async def talk():
        client = PolicyClient(settings, wire=InprocessWire(settings, model=Model()))
        with pytest.raises(PolicyTimeoutError, match="did not answer"):
            await client.infer(OBSERVATION, observation_id=0)

    asyncio.run(talk())


def test_a_model_is_found_by_module_and_name():
    settings = settings_for("inprocess", "interlock.nowhere:Model")
    with pytest.raises(PolicyServerError, match="write `module:name`"):
        asyncio.run(PolicyClient(settings).connect())


def test_lerobots_pickle_server_is_refused_with_the_way_out():
    with pytest.raises(PolicyServerError, match=r"pickle.*lerobot_host\.py"):
        asyncio.run(PolicyClient(WireSettings(kind="lerobot")).connect())


def test_a_wire_without_an_address_is_refused():
    with pytest.raises(PolicyError, match="INTERLOCK_VLA_URL"):
        PolicyClient(WireSettings(kind="openpi"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"step_budget_s": float("inf")}, "step_budget_s is inf"),
        ({"max_frame_bytes": 0}, "max_frame_bytes is 0"),
        ({"token_format": "Bearer"}, "token_format"),
        ({"connect_retry_s": float("nan")}, "connect_retry_s is nan"),
    ],
)
def test_limits_that_are_none_are_refused(change, said):
    with pytest.raises(ValueError, match=said):
        WireSettings(kind="openpi", url="ws://x", **change)


def test_xpolicylab_rows_of_named_parts_are_put_side_by_side():
    stand = Stand(kind="xpolicylab", behaviour=Stub(width=4, value=2), action_keys={"a": 3, "g": 1})
    [answer] = ask("xpolicylab", stand, action_keys=("g", "a"))
    assert answer.reply.actions.shape == (10, 4)


@pytest.mark.parametrize("kind", ["gr00t", "xpolicylab"])
def test_a_missing_part_is_named_with_the_parts_there_are(kind):
    stand = Stand(kind=kind, action_keys={"arm": 3, "hand": 5})
    with pytest.raises(ReplyError, match="'gripper' is missing; the reply has arm, hand"):
        ask(kind, stand, action_keys=("arm", "gripper"))
