import numpy as np

from interlock.robots.bridge import Judgement


def test_realtime_holds_while_the_client_thinks(serve, arm) -> None:
    robot = arm()
    client = serve(robot, pace="realtime").driven()
    client.act(0.25, 0)
    while len(robot.taken) < 4:
        client.socket.ping().wait(1)
    seen = client.act(0.25, 0)
    assert seen["meta"]["held"] >= 2
    assert seen["meta"]["seq"] == seen["meta"]["held"] + 2
    assert seen["observation/state"].tolist() == [0.5, 0]


def test_realtime_stands_still_until_the_first_action(serve, arm) -> None:
    robot = arm()
    client = serve(robot, pace="realtime").driven()
    for _ in range(5):
        client.socket.ping().wait(1)
    assert robot.taken == []


def test_every_observation_has_a_number_and_a_time(serve) -> None:
    client = serve().driven()
    times = [client.act(0, 0)["meta"]["observed_ns"] for _ in range(3)]
    assert times == sorted(times)


def test_the_gate_can_stand_in_the_way(serve, arm) -> None:
    class OnlyDown:
        def begin(self, slot: int, *, owner: str, now_ns: int) -> str:
            self.owner = owner
            return ""

        def end(self, slot: int) -> None:
            self.owner = ""

        def admit(
            self, action: np.ndarray, *, slot: int, observed_ns: int, now_ns: int
        ) -> Judgement:
            if action[1] <= 0:
                return Judgement(action=action)
            return Judgement(action=None, codes=("upward",), message="dy must not be above 0")

    robot = arm()
    client = serve(robot, admission=OnlyDown()).driven()
    assert client.act(0, -0.25)["meta"]["verdict"] == {"admitted": True}
    refused = client.act(0, 0.25)["meta"]["verdict"]
    assert refused == {
        "admitted": False,
        "codes": ["upward"],
        "message": "dy must not be above 0",
    }
    assert [a.tolist() for a in robot.taken] == [[0, -0.25], [0, 0]]


def test_a_robot_without_a_control_plane_can_open_by_itself(serve) -> None:
    client = serve(auto_reset=True).dial()
    assert client.claim(None)["observation/state"].tolist() == [0, 0]
