"""Rows and episodes from messages, written by the real writer."""

import numpy as np
import pyarrow.parquet
import pytest

from interlock.messages import Grant, Result, TaskRequest, Verdict
from interlock.nodes._bridge_door import Sight
from interlock.nodes._recording import Recording
from interlock.operators.lerobot_dataset import DatasetWriter, problems_of, summary_of
from interlock.robots.bridge.arm_contract import arm_contract, state_features

MS = 1_000_000


@pytest.fixture
def desk(tmp_path, make):
    """A recording at 10 rows per second of a robot without cameras."""

    class Desk:
        root = tmp_path / "data"
        writer = DatasetWriter(root, arm_contract(rate_hz=10, cameras={}))
        recording = Recording(writer, period_ns=100 * MS, whole=False, task="", seed=5)

        def grant(self, state, now_ms=0):
            message = Grant(request="p-1", owner="p", task="t1", state=state)
            self.recording.on_grant(message, now_ms * MS)

        def begin(self):
            self.recording.on_request(TaskRequest(request="p-1", owner="p", name="wave"), "p")
            self.grant("granted")

        def see(self, *times_ms):
            for ms in times_ms:
                state = make.state(commanded_position=np.full(7, ms / 1000))
                features = state_features(state)
                self.recording.on_sight(
                    Sight(
                        observed_ns=ms * MS,
                        state_ns=ms * MS,
                        state=state,
                        features=features,
                        basis=(),
                    )
                )

        def rows(self):
            self.writer.close()
            assert problems_of(self.root) == []
            files = sorted(self.root.glob("data/**/*.parquet"))
            return pyarrow.parquet.read_table(files[0]).to_pydict()

    return Desk()


def result(status="succeeded"):
    return Result(goal="p/2", status=status)


def test_a_row_is_what_was_seen_and_the_set_point_one_period_later(desk):
    desk.begin()
    desk.see(0, 20, 99, 100, 150, 210, 300)
    desk.grant("ended", 310)
    desk.recording.on_result(result(), "p")
    rows = desk.rows()
    assert rows["observed_ns"] == [0, 100 * MS, 210 * MS]
    assert [round(a[0], 3) for a in rows["action"]] == [0.1, 0.21, 0.3]
    assert summary_of(desk.root)["tasks"] == ["wave"]


def test_a_refusal_marks_its_row_and_rewards_add_up(desk):
    desk.begin()
    desk.see(0, 100)
    refused = Verdict(task="t1", source="p", seq=0, admitted=False, codes=("path",))
    desk.recording.on_verdict(refused)
    desk.recording.on_reward(0.5)
    desk.see(200, 300)
    desk.recording.end(success=True)
    rows = desk.rows()
    assert rows["verdict"] == [0, 2, 0]
    assert rows["next.reward"] == [0.0, 0.5, 0.0]
    assert rows["next.success"] == [False, False, True]


def test_a_task_without_a_result_ends_ungraded_and_one_without_rows_is_dropped(desk):
    desk.begin()
    desk.see(0, 100, 200)
    desk.grant("revoked", 200)
    desk.see(300, 400)
    desk.recording.tick(5_000 * MS)
    desk.begin()
    desk.recording.end(success=False)
    assert len(desk.rows()["action"]) == 2
    found = summary_of(desk.root)
    assert (found["episodes"], found["graded"]) == (1, 0)


def test_the_result_of_another_node_ends_nothing(desk):
    desk.begin()
    desk.see(0, 100, 200)
    desk.grant("ended", 200)
    desk.recording.on_result(result("failed"), "somebody")
    desk.recording.on_result(result(), "p")
    desk.writer.close()
    assert summary_of(desk.root)["successes"] == 1
