"""A simulator whose host slept in mid-motion must not let the arm jump when it wakes."""

import numpy as np
import pytest

from interlock.gate.plan import Schedule
from interlock.gate.planner import Planner
from interlock.gate.samples import at_rest
from interlock.gate.seal import seal
from interlock.messages import AdmittedCommand
from interlock.nodes._node import Context
from interlock.nodes._scene import scene
from interlock.nodes._sim_driver import SimDriver
from interlock.robots import panda

MS = 1_000_000
KEY = b"k" * 32


@pytest.fixture
def driver(tmp_path):
    """A driver that has begun to turn the base by 1 rad in 2 s."""
    context = Context(node_id="simulator", run_id="r", run_dir=tmp_path)
    made = SimDriver(scene("empty", context, 0), key=KEY, run_id="r")
    made.advance(0)
    start = made.world.position
    turned = start + np.array([1.0, 0, 0, 0, 0, 0, 0])
    plan = Planner(panda.LIMITS).plan(
        turned[None],
        at_rest(start),
        Schedule(start_ns=10 * MS, period_ns=10 * MS, samples=(200,)),
        gripper_m=np.zeros(0),
        ends_at_rest=True,
    )
    motion = AdmittedCommand(
        run="r", number=0, task="t", start_ns=plan.start_ns, continues=-1,
        period_ns=plan.period_ns, position=plan.position, velocity=plan.velocity,
        acceleration=plan.acceleration, stop_index=plan.stop_index,
    )  # fmt: skip
    assert made.accept(seal(motion, KEY), 0) is None
    for ms in range(0, 800, 10):
        made.advance(ms * MS)
    return made


@pytest.mark.parametrize("slept_s", [1.1, 5.0, 3600.0])
def test_after_a_sleep_the_arm_has_gone_its_way_and_does_not_jump(driver, slept_s):
    wake_ns = 800 * MS + int(slept_s * 1e9)
    fastest = 0.0
    for ms in range(0, 1200, 2):
        driver.advance(wake_ns + ms * MS)
        fastest = max(fastest, float(np.abs(driver.world.velocity).max()))
    assert fastest <= panda.LIMITS.velocity.max()
    np.testing.assert_allclose(driver.world.position, driver.set_point.position, atol=0.01)
    assert driver.at_rest


def test_time_in_which_the_arm_stands_still_is_not_simulated(driver):
    driver.advance(3600 * 1000 * MS)
    assert driver.lost_ns == 3600 * 1000 * MS - driver.port.rest_ns
    assert driver.world.step_count < 2000
