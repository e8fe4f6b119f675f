"""What holds for every command: admitted ones keep the limits, offers are admitted, a way back."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.gate.samples import end_ns, state_at
from interlock.messages import Command, ObjectPoses, Verdict
from interlock.robots import kinematics, panda

MS = 1_000_000
QUICK = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def rows_from(rng, start, n, step):
    return start + np.cumsum(rng.normal(0, step, (n, 7)), axis=0)


def assert_within_limits(motion):
    """Every 2 ms: within the robot's own limits, and at rest at the end."""
    times = [*range(motion.start_ns, end_ns(motion), 2 * MS), end_ns(motion)]
    states = [state_at(motion, t) for t in times]
    q, v, a = (np.array(x) for x in zip(*states, strict=True))
    limits = panda.LIMITS
    assert (q >= limits.position_low - 1e-9).all()
    assert (q <= limits.position_high + 1e-9).all()
    assert (np.abs(v) <= limits.velocity + 1e-6).all()
    assert (np.abs(a) <= limits.acceleration + 1e-6).all()
    assert not v[-1].any()


@QUICK
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from([1, 5, 30]),
    step=st.sampled_from([0.0005, 0.005, 0.03, 0.3]),
    period_ms=st.sampled_from([5, 10, 20, 33, 50, 200]),
    rest=st.booleans(),
)
def test_whatever_is_sent_what_is_admitted_keeps_every_limit(
    make_rig, seed, n, step, period_ms, rest
):
    rig = make_rig()
    token = rig.task()
    rng = np.random.default_rng(seed)
    for _ in range(4):
        rows = rows_from(rng, rig.position, n, step)
        rig.send(token, rows, period_ms, ends_at_rest=rest)
        rig.tick(int(rng.integers(1, 8)) * 10)
    for motion in rig.sent:
        assert_within_limits(motion)
    assert rig.port.refused_count == 0


@QUICK
@given(seed=st.integers(0, 2**32 - 1), n=st.sampled_from([1, 8]), size=st.floats(0.01, 1.0))
def test_the_nearest_acceptable_command_is_itself_admitted(make_rig, seed, n, size):
    rig = make_rig()
    token = rig.task()
    rng = np.random.default_rng(seed)
    rows = np.linspace(rig.home, rig.home + rng.uniform(-size, size, 7), n + 1)[1:]
    refused = rig.send(token, rows, period_ms=float(rng.choice([20, 100, 400])), ends_at_rest=True)
    if not refused.admitted and refused.nearest.size:
        again = rig.send(token, refused.nearest, refused.nearest_period_ns / MS, ends_at_rest=True)
        assert again.admitted, again.sentence
        assert again.codes == ()


@QUICK
@given(seed=st.integers(0, 2**32 - 1))
def test_an_arm_that_something_has_come_near_to_always_has_a_way_back(make_rig, seed):
    rig = make_rig()
    token = rig.task()
    rng = np.random.default_rng(seed)
    place = np.array([rng.uniform(0.4, 0.6), rng.uniform(-0.2, 0.2), rng.uniform(0.1, 0.3)])
    low = kinematics.inverse(np.array([*place, 0.0, 1.0, 0.0, 0.0]), panda.HOME)
    if not rig.send(token, low, period_ms=2500, ends_at_rest=True).admitted:
        return
    way = [rig.port.set_point(rig.now).position]
    for _ in range(130):
        rig.tick(20)
        way.append(rig.position)
    tool = kinematics.forward(rig.position)[:3]
    side = rng.normal(size=3) * [1, 1, 0]
    side *= rng.uniform(0.03, 0.06) / np.linalg.norm(side)
    rig.see(cup_red=np.array([*(tool + side)[:2], 0.05, 1, 0, 0, 0]))
    # Straight up is away from anything that stands beside the tool.
    up = [np.array([*tool[:2], tool[2] + 0.004 * i, 0, 1, 0, 0.0]) for i in range(1, 30)]
    verdict = rig.send(token, up, period_ms=60, space="pose")
    assert verdict.admitted, verdict.sentence


@pytest.mark.parametrize("n", [1, 7])
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_input_crashes_the_gate_or_gets_a_broken_command_through(asked_rig, n, data):
    rig = asked_rig
    junk = st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8),
        st.binary(max_size=8), st.lists(st.floats(), max_size=4),
        st.just(np.full((n, 7), np.nan)), st.just(np.zeros((n, 7), np.float32)),
        st.just(np.zeros((n, 7, 1))), st.just(np.array([[None] * 7], dtype=object)),
    )  # fmt: skip
    good = Command(
        task=rig.token,
        space="joint",
        targets=np.repeat(rig.home[None], n, axis=0),
        period_ns=20 * MS,
    )
    field = data.draw(st.sampled_from(list(Command.__dataclass_fields__)))
    verdict, admitted = rig.gate.judge(
        rig.received(replace(good, **{field: data.draw(junk)})), rig.now
    )
    assert isinstance(verdict, Verdict)
    if admitted is not None:
        assert_within_limits(admitted)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_state_or_object_crashes_the_gate_or_makes_it_forget_where_the_arm_is(asked_rig, data):
    rig = asked_rig
    rig.tick(10)
    junk = st.one_of(
        st.none(), st.integers(), st.floats(), st.text(max_size=4), st.just(np.zeros(3)),
        st.just(np.full(7, np.nan)), st.just(np.full((2, 7), np.inf)), st.just(np.zeros(0)),
    )  # fmt: skip
    state = rig.state()
    rows = ("position", "velocity", "commanded_position", "world_from_tool", "gripper_width_m")
    field = data.draw(st.sampled_from(rows))
    rig.gate.on_state(rig.received(replace(state, **{field: data.draw(junk)}), "x", "s"), rig.now)
    poses = ObjectPoses(
        names=("cup_red", "nobody"),
        world_from_object=data.draw(st.sampled_from([np.full((2, 7), np.nan), np.zeros((2, 7))])),
        confidence=np.ones(2),
        observed_ns=np.array([data.draw(st.integers(-(2**62), 2**62)), 0]),
    )
    rig.gate.on_objects(rig.received(poses, "x", "o"), rig.now)
    rig.observe()
    assert rig.send(rig.token, rig.home).admitted
