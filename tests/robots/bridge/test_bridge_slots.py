import threading
import time

import numpy as np
import pytest

from interlock.robots.bridge import BridgeError, BusyError


def pair(served) -> tuple:
    """Two clients on two slots."""
    tokens = [served.reset(), served.reset()]
    clients = [served.dial(), served.dial()]
    for client, token in zip(clients, tokens, strict=True):
        client.claim(token)
    return (*clients, *tokens)


def test_separate_robots_do_not_wait_for_each_other(serve, arm) -> None:
    served = serve([arm(), arm()])
    first = served.driven(start=1)
    served.reset(start=2)
    assert first.act(0.25, 0)["observation/state"].tolist() == [1.25, 1]


def test_a_slot_is_reset_while_its_neighbour_runs(serve, arm) -> None:
    served = serve([arm(), arm()])
    first = served.driven()
    second = served.driven()
    first.act(0.25, 0)
    served.control.call("result", token=served.server.engine.table.slots[1].token)
    third = served.driven(start=5)
    assert third.act(0, 0)["observation/state"].tolist() == [5, 5]
    assert first.act(0.25, 0)["meta"]["seq"] == 2
    assert second.read()["error"]["code"] == "episode_over"


def test_a_batch_steps_when_every_row_has_its_action(serve, arms) -> None:
    robot = arms(2)
    first, second, *_ = pair(serve(robot))
    first.send({"actions": [0.1, 0.2]})
    with pytest.raises(TimeoutError):
        first.read(0.1)
    assert second.act(0.3, 0.4)["observation/state"].tolist() == [1, 1]
    assert first.read()["meta"]["seq"] == 1
    np.testing.assert_allclose(robot.taken[0], [[0.1, 0.2], [0.3, 0.4]])


def test_one_bad_action_ends_only_its_own_slot(serve, arms) -> None:
    robot = arms(2)
    first, second, *_ = pair(serve(robot))
    first.send({"actions": [1.0, 2.0, 3.0]})
    assert first.read()["error"]["code"] == "bad_action"
    assert second.act(0.1, 0.1)["meta"]["seq"] == 1
    assert second.act(0.1, 0.1)["meta"]["seq"] == 2


def test_a_lost_row_holds_its_last_absolute_target(serve, arms) -> None:
    robot = arms(2)
    served = serve(robot)
    first, second, token, _ = pair(served)
    first.send({"actions": [0.7, 0.7]})
    second.act(0.1, 0.1)
    first.read()
    first.close()
    second.act(0.2, 0.2)
    np.testing.assert_allclose(robot.taken[-1], [[0.7, 0.7], [0.2, 0.2]])
    again = served.dial()
    assert again.claim(token)["observation/state"].tolist() == [2, 2]


def test_an_undialed_slot_is_given_up_and_the_others_go_on(serve, arms) -> None:
    served = serve(arms(2), dial_timeout_s=1.0)
    token, undialed = served.reset(), served.reset()
    client = served.dial()
    client.claim(token)
    assert client.act(0.1, 0.1)["meta"]["seq"] == 1
    late = served.dial()
    assert "no client claimed the slot within 1 s" in late.claim(undialed)["error"]["message"]
    assert served.control.call("result", token=undialed)["success"] is False


def test_nobody_joins_a_batch_that_has_moved_on(serve, arms) -> None:
    served = serve(arms(2), gather_s=0.0)
    client = served.driven()
    client.act(0.1, 0.1)
    with pytest.raises(BusyError, match="resets as a whole"):
        served.reset()


def test_slots_of_one_reset_share_its_task(serve, arms) -> None:
    robot = arms(2)
    served = serve(robot)
    served.reset(seed=1)
    with pytest.raises(BridgeError, match=r"share one reset with \{'seed': 1\}"):
        served.reset(seed=2)
    served.reset(seed=1)
    assert robot.resets == 1


def test_a_batch_that_can_resets_single_rows(serve, arms) -> None:
    class Resetting(arms):
        def reset_slots(self, slots: tuple, **task: object) -> str:
            self.taken.append(slots)
            return "again"

    robot = Resetting(2)
    served = serve(robot)
    first, second, token, _ = pair(served)
    first.send({"actions": [0.1, 0.1]})
    second.act(0.1, 0.1)
    served.control.call("result", token=token)
    assert served.control.call("reset")["prompt"] == "again"
    assert robot.taken[-1] == (0,)


def test_a_batch_waits_a_moment_for_more_claims(serve, arms) -> None:
    robot = arms(2)
    served = serve(robot, gather_s=30.0)
    client = served.driven()
    client.send({"actions": [0.1, 0.1]})
    second = served.driven()
    second.send({"actions": [0.2, 0.2]})
    assert [client.read()["meta"]["seq"], second.read()["meta"]["seq"]] == [1, 1]
    assert len(robot.taken) == 1


def test_a_lost_client_has_a_while_to_come_back(serve) -> None:
    served = serve(redial_timeout_s=0.2)
    client = served.driven()
    client.act(0.1, 0)
    client.close()
    for _ in range(50):
        if served.server.engine.table.free():
            break
        time.sleep(0.05)
    assert served.reset()


def test_an_action_one_row_cannot_execute_ends_only_that_slot(serve, arms) -> None:
    class Picky(arms):
        def check_action(self, action: np.ndarray) -> None:
            if action[0] < 0:
                raise BridgeError("x must not be negative")

    robot = Picky(2)
    first, second, *_ = pair(serve(robot))
    first.send({"actions": [-0.5, 0.0]})
    assert second.act(0.5, 0.0)["meta"]["seq"] == 1
    error = first.read()["error"]
    assert (error["code"], error["message"]) == ("bad_action", "x must not be negative")
    assert robot.taken[0][0].tolist() == [0, 0]


def test_a_client_that_comes_back_during_a_step_gets_one_observation(serve, arm) -> None:
    class Slow(arm):
        def step(self, action: np.ndarray) -> None:
            self.gate.wait(5)
            super().step(action)

    robot = Slow()
    robot.gate = threading.Event()
    served = serve(robot)
    token = served.reset()
    first, second = served.dial(), served.dial()
    first.claim(token)
    first.send({"actions": [0.25, 0.0]})
    first.socket.ping().wait(5)
    first.close()
    second.send({"claim": token})
    second.socket.ping().wait(5)
    robot.gate.set()
    assert second.read()["meta"]["seq"] == 1
    assert second.act(0.25, 0.0)["meta"]["seq"] == 2


def test_many_short_episodes_never_stall(serve, arm) -> None:
    served = serve([arm(9), arm(9)])
    witness = served.driven()
    for episode in range(60):
        token = served.reset(start=episode)
        client = served.dial()
        client.claim(token)
        for _ in range(9):
            client.act(0.0, 0.0)
        client.close()
        assert served.control.call("result", token=token)["success"] is True
    assert witness.act(0.0, 0.0)["meta"]["seq"] == 1
