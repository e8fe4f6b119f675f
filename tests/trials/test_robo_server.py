"""The episode behind its real socket: concurrent, bounded, with the budget in every reply."""

import json
import socket
import threading
from collections.abc import Callable

import pytest
from trial_worlds import Served, make_task

from interlock.trials.errors import RefusedError, UsageError
from interlock.trials.robo_client import RoboClient
from interlock.trials.robo_server import MAX_LINE

Serve = Callable[..., Served]


def test_a_motion_moves_and_every_reply_has_the_budget(serve: Serve) -> None:
    with RoboClient(serve().socket) as robo:
        reply = robo.ask("act", action=[0.05, 0.0, 1.0], repeat=2)
        assert reply["result"]["executed_steps"] == 2
        assert reply["result"]["state"]["hand_m"] == pytest.approx([0.1, 0.0])
        assert robo.ask("status")["budget"]["steps_left"] == 198


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("act 9 0 0", "limits are -0.05 to 0.05"),
        ("act 0 0", "takes 3 values"),
        ("observe --camera front", "no camera 'front'; known: top"),
        ("move-to 2 0 0", "outside the table"),
        ("skill fly", "no skill 'fly'. Use pick, place"),
        ("skill pick cup", "nothing is called 'cup'"),
    ],
)
def test_nothing_is_clamped_and_no_default_is_taken(serve: Serve, line: str, says: str) -> None:
    with (
        RoboClient(serve().socket) as robo,
        pytest.raises((RefusedError, UsageError), match=says),
    ):
        robo.type(line)


def test_a_refusal_has_codes_and_a_way_out(serve: Serve) -> None:
    with RoboClient(serve().socket) as robo:
        reply = robo.ask("move_to", position=[2.0, 0.0, 0.0])
    assert not reply["ok"]
    assert reply["refused"]["codes"] == ["workspace"]
    assert "Stay within 0.5 m" in reply["refused"]["way_out"]


def test_observe_is_answered_while_a_skill_runs(serve: Serve) -> None:
    served = serve(make_task(max_steps="100000"), slow=True)
    seen: list[int] = []
    with RoboClient(served.socket) as mover, RoboClient(served.socket) as robo:
        motion = threading.Thread(target=mover.ask, args=("wait",), kwargs={"steps": 300})
        motion.start()
        while motion.is_alive():
            seen.append(robo.ask("observe")["budget"]["steps_used"])
        motion.join()
    assert any(0 < steps < 300 for steps in seen)


def test_the_budget_counts_every_step_and_warns_near_the_end(serve: Serve) -> None:
    with RoboClient(serve(make_task(max_steps="20")).socket) as robo:
        assert "warning" not in robo.ask("wait", steps=10)["budget"]
        assert "only 2 of 20" in robo.ask("wait", steps=8)["budget"]["warning"]
        last = robo.ask("wait", steps=10)
        assert last["result"]["executed_steps"] == 2
        assert last["budget"]["episode"] == "finished: budget_exhausted"
        assert "finished (budget_exhausted)" in robo.ask("wait", steps=1)["error"]


def test_done_ends_a_running_motion(serve: Serve) -> None:
    served = serve(make_task(max_steps="100000"), slow=True)
    with RoboClient(served.socket) as mover, RoboClient(served.socket) as other:
        replies: list[dict[str, object]] = []

        def move() -> None:
            while not replies or "refused" not in replies[-1]:
                replies.append(mover.ask("wait", steps=500))

        thread = threading.Thread(target=move)
        thread.start()
        assert other.ask("done", text="enough")["result"]["outcome"] == "done"
        thread.join()
    assert served.episode.steps < 100_000


def test_bad_lines_get_an_answer_and_the_server_lives_on(serve: Serve) -> None:
    served = serve()
    for line in (b"hello\n", b"[1]\n", b"[" * 5000 + b"\n", b'{"verb": 5}\n', b'{"argv": "act"}\n'):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(str(served.socket))
            raw.sendall(line)
            assert json.loads(raw.makefile().readline())["ok"] is False
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(str(served.socket))
        raw.sendall(b"x" * (MAX_LINE + 1))
        assert "bytes" in json.loads(raw.makefile().readline())["error"]
    with RoboClient(served.socket) as robo:
        assert robo.ask("status")["ok"]


def test_every_request_is_logged_with_arrival_and_duration(serve: Serve) -> None:
    served = serve()
    with RoboClient(served.socket) as robo:
        robo.ask("observe", image=True)
        robo.ask("act", action=[9.0, 0.0, 0.0])
    rows = [json.loads(row) for row in served.log.read_text().splitlines()]
    assert [row["request"]["verb"] for row in rows] == ["observe", "act"]
    assert all(row["took_ms"] >= 0 and row["arrived_s"] >= 0 for row in rows)
    assert "characters" in rows[0]["reply"]["result"]["images"][0]["png_base64"]
