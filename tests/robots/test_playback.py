"""Following a timed segment between its samples, before it and after it."""

from __future__ import annotations

import numpy as np
import pytest

from interlock.robots.geometry import RobotError
from interlock.robots.playback import GripperEvent, ServoPlayback

MS = 1_000_000


def segment(n_samples=6, period_ns=20 * MS, **changes):
    """Two joints on known curves: a sine and a fifth power."""
    t = np.arange(n_samples) * period_ns * 1e-9
    values = {
        "positions": np.stack([np.sin(3 * t), t**5], axis=1),
        "velocities": np.stack([3 * np.cos(3 * t), 5 * t**4], axis=1),
        "accelerations": np.stack([-9 * np.sin(3 * t), 20 * t**3], axis=1),
    }
    return ServoPlayback(start_ns=1000 * MS, period_ns=period_ns, **values | changes)


def test_between_samples_it_follows_the_curve_they_were_taken_from():
    for offset_ms in (0, 3, 19, 20, 47, 99):
        t = offset_ms / 1e3
        q, v, a, _ = segment().at((1000 + offset_ms) * MS)
        assert np.abs(q - [np.sin(3 * t), t**5]).max() < 1e-9
        assert np.abs(v - [3 * np.cos(3 * t), 5 * t**4]).max() < 1e-7
        assert np.abs(a - [-9 * np.sin(3 * t), 20 * t**3]).max() < 1e-4


def test_before_and_after_the_segment_the_arm_stands():
    played = segment()
    early, late = played.at(0), played.at(10_000 * MS)
    assert np.array_equal(early.position, played.positions[0])
    assert np.array_equal(late.position, played.positions[-1])
    assert not late.velocity.any()
    assert not late.acceleration.any()
    assert played.end_ns == 1100 * MS


def test_one_sample_is_a_place_to_stand():
    played = segment(n_samples=1)
    assert np.array_equal(played.at(played.start_ns).position, played.positions[0])


def test_the_gripper_obeys_the_latest_event_that_has_come():
    events = (GripperEvent(1010 * MS, 0.08, 20.0), GripperEvent(1050 * MS, 0.0, 30.0))
    played = segment(gripper=events)
    assert played.at(1009 * MS).gripper is None
    assert played.at(1010 * MS).gripper == events[0]
    assert played.at(5000 * MS).gripper == events[1]


def test_what_is_returned_cannot_change_the_segment():
    played = segment()
    played.at(9999 * MS).position[:] = 7.0
    assert not (played.at(9999 * MS).position == 7.0).any()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"positions": np.zeros((6, 3))}, "of one shape"),
        ({"velocities": np.full((6, 2), np.nan)}, "not finite"),
        ({"period_ns": 0}, "period"),
        ({"gripper": (GripperEvent(5, 0.0, 1.0), GripperEvent(4, 0.0, 1.0))}, "order of time"),
    ],
)
def test_a_broken_segment_is_refused_as_a_whole(changes, problem):
    with np.errstate(all="ignore"), pytest.raises(RobotError, match=problem):
        segment(**changes)
