"""Every row of the fault table of the facts (hud.md 2.5), with the better answer."""

import json
import threading

import numpy as np
import pytest

from interlock.messages.arrays_msgpack import pack


def fault(answer: dict) -> tuple[str, str]:
    error = answer["error"]
    assert set(error) == {"code", "id", "message"}
    assert "Traceback" not in json.dumps(error)
    assert "/" not in error["message"].replace("[x/y]", "")
    return error["code"], error["message"]


@pytest.mark.parametrize(
    ("frame", "code", "close"),
    [
        ("hello", "bad_frame", 1007),
        (b"\xc1garbage", "bad_frame", 1007),
        (pack([1, 2]), "bad_frame", 1007),
        (pack({"x": 1}), "bad_claim", 1008),
        (pack({"claim": "slot-0-beef"}), "unknown_token", 1008),
        (pack({"claim": 7}), "bad_claim", 1008),
        (pack({"claim": None}), "bad_claim", 1008),
    ],
)
def test_a_bad_first_frame_is_told_by_code_and_closed(serve, frame, code, close) -> None:
    client = serve().dial()
    client.send(frame)
    assert fault(client.read())[0] == code
    assert client.closed() == close


def test_a_claim_without_token_takes_the_only_claimed_slot(serve) -> None:
    served = serve()
    served.reset(start=2)
    assert served.dial().claim(None)["observation/state"].tolist() == [2, 2]


def test_a_second_client_is_told_and_the_first_keeps_driving(serve) -> None:
    served = serve()
    token = served.reset()
    first, second = served.dial(), served.dial()
    first.claim(token)
    code, message = fault(second.claim(token))
    assert (code, second.closed()) == ("slot_busy", 4409)
    assert "already has a live connection" in message
    assert first.act(0.1, 0)["meta"]["seq"] == 1


@pytest.mark.parametrize("action", [[0.25, 0.0], np.array([0.25, 0.0]), np.array([1, 0], np.int64)])
def test_lists_and_other_numbers_are_taken_as_float32(serve, action) -> None:
    client = serve().driven()
    client.send({"actions": action, "extra": 1})
    assert client.read()["observation/state"].dtype == np.float32


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (np.array([np.nan, 0], np.float32), "actions[0] is nan"),
        (np.array([0, np.inf], np.float32), "actions[1] is inf"),
        (np.array([0, -np.inf]), "actions[1] is -inf"),
        (np.array([1e300, 0]), "actions[0] is inf"),
        (["nan", 0], "must be numbers"),
        ([True, False], "must be numbers, got bool"),
        (None, "must be numbers"),
        (np.zeros(3, np.float32), "shape [3], expected [2]"),
        (np.zeros((4, 2), np.float32), "send one action per frame"),
        ([[1.0], [1.0, 2.0]], "rows differ in length"),
    ],
)
def test_a_bad_action_never_reaches_the_robot(serve, arm, action, text) -> None:
    robot = arm()
    served = serve(robot)
    token = served.reset()
    client = served.dial()
    client.claim(token)
    client.send({"actions": action})
    code, message = fault(client.read())
    assert (code, client.closed(), robot.taken) == ("bad_action", 1008, [])
    assert text in message
    assert served.dial().claim(token)["meta"]["seq"] == 0


def test_a_frame_without_actions_names_its_keys(serve) -> None:
    client = serve().driven()
    client.send({"action": [0, 0]})
    assert "no 'actions'; its keys: action" in fault(client.read())[1]
    text = serve().driven()
    text.send("go")
    assert fault(text.read())[0] == "bad_frame"


def test_an_action_outside_the_limits_is_refused_and_the_robot_holds(serve, arm) -> None:
    robot = arm()
    client = serve(robot).driven()
    seen = client.act(3.0, 0)
    assert seen["meta"]["verdict"]["codes"] == ["outside_limits"]
    assert seen["meta"]["verdict"]["message"] == "dx=3 is outside [-1, 1]"
    assert [a.tolist() for a in robot.taken] == [[0, 0]]


def test_clipping_is_a_choice_and_is_reported(serve, arm) -> None:
    robot = arm()
    client = serve(robot, on_limit="clip").driven()
    verdict = client.act(3.0, 0)["meta"]["verdict"]
    assert (verdict["admitted"], verdict["codes"]) == (True, ["clipped"])
    assert robot.taken[0].tolist() == [1, 0]


def test_an_ended_episode_is_not_stepped_again(serve, arm) -> None:
    robot = arm(2)
    client = serve(robot).driven()
    client.act(0.1, 0)
    assert client.act(0.1, 0)["terminated"] is True
    again = client.act(0.1, 0)
    assert (again["terminated"], again["meta"]["seq"], len(robot.taken)) == (True, 2, 2)


def test_a_client_that_comes_back_goes_on_where_it_was(serve) -> None:
    served = serve()
    token = served.reset()
    first = served.dial()
    first.claim(token)
    first.act(0.25, 0)
    first.close()
    second = served.dial()
    assert second.claim(token)["observation/state"].tolist() == [0.25, 0]
    assert second.act(0.25, 0)["meta"]["seq"] == 2


def test_a_graded_episode_closes_its_connection(serve) -> None:
    served = serve()
    token = served.reset()
    client = served.dial()
    client.claim(token)
    served.control.call("result", token=token)
    assert fault(client.read())[0] == "episode_over"
    assert client.closed() == 4410
    late = served.dial()
    assert "was graded; reset" in fault(late.claim(token))[1]


def test_a_silent_client_is_told_and_may_come_back(serve) -> None:
    served = serve(first_action_timeout_s=30, action_timeout_s=0.2)
    token = served.reset()
    client = served.dial()
    client.claim(token)
    client.act(0, 0)
    code, message = fault(client.read())
    assert (code, client.closed()) == ("action_timeout", 4408)
    assert "within 0.2 s" in message
    assert served.dial().claim(token)["meta"]["seq"] == 1


def test_the_first_action_has_a_limit_of_its_own(serve) -> None:
    client = serve(first_action_timeout_s=0.2, action_timeout_s=30).driven()
    assert "no first action came within 0.2 s" in fault(client.read())[1]


def test_no_claim_in_time_is_told(serve) -> None:
    client = serve(claim_timeout_s=0.1).dial()
    assert fault(client.read())[0] == "claim_timeout"
    assert client.closed() == 4408


def test_a_robot_that_raises_is_a_short_fault_and_keeps_serving(serve, caplog) -> None:
    served = serve()
    token = served.reset()
    client = served.dial()
    client.claim(token)
    answer = client.act(0.5, 0)
    assert fault(answer)[0] == "robot_fault"
    assert "secret" not in json.dumps(answer)
    assert answer["error"]["id"] in caplog.text
    assert client.closed() == 1011
    assert served.dial().claim(token)["meta"]["seq"] == 0


def test_two_actions_before_the_answer_are_counted(serve, arm) -> None:
    class Slow(arm):
        def step(self, action: np.ndarray) -> None:
            self.gate.wait(5)
            super().step(action)

    robot = Slow()
    robot.gate = threading.Event()
    client = serve(robot).driven()
    for value in (0.125, 0.25, 0.375):
        client.send({"actions": [value, 0.0]})
    client.socket.ping().wait(5)
    robot.gate.set()
    client.read()
    second = client.read()
    assert second["meta"]["superseded"] == 1
    assert [a[0] for a in robot.taken] == [0.125, 0.375]


def test_a_frame_over_the_limit_names_size_and_limit(serve) -> None:
    served = serve(max_frame_bytes=2048)
    client = served.driven()
    client.send(b"0" * 5000)
    assert client.closed() == 1009
    assert served.dial().claim(None)["meta"]["seq"] == 0
