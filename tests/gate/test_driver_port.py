from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.gate.driver_port import DriverPort
from interlock.gate.samples import end_ns, state_at
from interlock.gate.seal import seal
from interlock.messages import AdmittedCommand

KEY = b"k" * 32
MS = 1_000_000


def ramp(number=0, continues=-1, start_ns=0, p0=0.0, v0=0.0, **changes):
    """Two joints brake from v0 with constant deceleration over 100 ms, in 10 ms samples."""
    t = np.arange(11) * 0.01
    a = -v0 / 0.1
    position = np.stack([p0 + v0 * t + a * t * t / 2] * 2, axis=1)
    velocity = np.stack([v0 + a * t] * 2, axis=1)
    acceleration = np.full((11, 2), a)
    velocity[-1] = acceleration[-1] = 0.0
    command = AdmittedCommand(
        run="r",
        number=number,
        task="t",
        start_ns=start_ns,
        continues=continues,
        period_ns=10 * MS,
        position=position,
        velocity=velocity,
        acceleration=acceleration,
        stop_index=0,
        not_after_ns=start_ns + 1000 * MS,
    )
    return seal(replace(command, **changes), KEY)


def continued(port_motion, at_ns, number):
    state = state_at(port_motion, at_ns)
    rows = [np.vstack([x, np.zeros_like(x)]) for x in state]
    rows[0][1] = rows[0][0]
    return seal(
        replace(
            port_motion,
            number=number,
            continues=port_motion.number,
            start_ns=at_ns,
            position=rows[0],
            velocity=rows[1],
            acceleration=rows[2],
        ),
        KEY,
    )


@pytest.fixture
def port():
    return DriverPort(KEY, run="r", position=np.zeros(2))


def test_before_the_first_command_it_holds_where_it_is(port):
    point = port.set_point(5)
    assert (point.phase, point.executing, point.gripper_m) == ("hold", -1, None)


def test_a_lost_message_ends_in_the_stop_of_the_one_before(port):
    motion = ramp(v0=0.0)
    assert port.accept(motion, 0) is None
    assert port.set_point(10**12).phase == "hold"
    assert not port.set_point(10**12).velocity.any()


def test_a_command_that_continues_takes_over_at_its_start(port):
    first = ramp()
    port.accept(first, 0)
    second = continued(first, 45 * MS, number=1)
    assert port.accept(second, 40 * MS) is None
    assert port.set_point(44 * MS).executing == 0
    assert port.set_point(45 * MS).executing == 1


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"mac": "00" * 32}, "bad_seal"),
        ({"mac": "ä"}, "bad_seal"),
        ({"position": np.full((11, 2), 0.1)}, "bad_seal"),
        ({"gripper_m": np.full(11, 0.01)}, "bad_seal"),
        ({"task": "other"}, "bad_seal"),
        ({"position": np.full((11, 2), np.nan)}, "malformed"),
        ({"velocity": np.full((11, 2), 0.1)}, "malformed"),
        ({"position": np.zeros((11, 3))}, "malformed"),
        ({"number": 2**70}, "malformed"),
        ({"period_ns": 0}, "malformed"),
        ({"position": None}, "malformed"),
    ],
)
def test_a_changed_command_is_refused_by_name_and_counted(port, change, code):
    assert port.accept(replace(ramp(), **change), 0).startswith(code + ":")
    assert port.refused == {code: 1}
    assert port.set_point(50 * MS).executing == -1


@pytest.mark.parametrize(
    ("command", "now_ns", "code"),
    [
        (ramp(run="other"), 0, "other_run"),
        (ramp(), 1, "late"),
        (ramp(), 2000 * MS, "old"),
        (ramp(continues=3), 0, "continuity"),
        (ramp(p0=0.1), 0, "continuity"),
        (ramp(v0=0.1), 0, "continuity"),
    ],
)
def test_a_sealed_command_that_does_not_fit_is_refused(port, command, now_ns, code):
    assert port.accept(command, now_ns).startswith(code + ":")


def test_a_newer_command_replaces_one_that_has_not_started(port):
    first = ramp()
    port.accept(first, 0)
    port.accept(continued(first, 80 * MS, number=1), 10 * MS)
    assert port.accept(continued(first, 40 * MS, number=2), 20 * MS) is None
    assert port.set_point(90 * MS).executing == 2


def test_a_replay_is_refused(port):
    port.accept(ramp(), 0)
    assert port.accept(ramp(), 0).startswith("replay:")


def test_a_gripper_is_not_interpolated_and_stays_when_the_next_leaves_it_alone(port):
    port.accept(ramp(gripper_m=np.array([0.08] * 5 + [0.02] * 6)), 0)
    assert port.set_point(49 * MS).gripper_m == 0.08
    assert port.set_point(50 * MS).gripper_m == 0.02
    port.accept(ramp(number=1, continues=0, start_ns=200 * MS), 100 * MS)
    assert port.set_point(250 * MS).gripper_m == 0.02


def test_between_samples_the_motion_has_no_step():
    motion = ramp(v0=0.5)
    times = range(0, end_ns(motion), MS // 2)
    v = np.array([state_at(motion, t).velocity[0] for t in times])
    assert np.abs(np.diff(v)).max() < 5.0 * 0.5e-3 * 1.6


def test_after_a_restart_at_another_place_the_next_command_starts_there(port):
    port.accept(ramp(), 0)
    port.restart_at(np.full(2, 0.3))
    assert port.accept(ramp(number=5, p0=0.3, start_ns=MS), MS) is None


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_nothing_that_arrives_makes_it_raise_or_move(data):
    port = DriverPort(KEY, run="r", position=np.zeros(2))
    field = data.draw(st.sampled_from(list(AdmittedCommand.__dataclass_fields__)))
    junk = st.one_of(
        st.none(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=5),
        st.lists(st.floats(), max_size=3),
        st.just(np.array(["x"], dtype=object)), st.just(np.zeros((11, 2), np.float32)),
    )  # fmt: skip
    command = replace(ramp(), **{field: data.draw(junk)})
    if port.accept(command, 0) is not None:
        assert port.refused_count == 1
        assert port.set_point(60 * MS).executing == -1
