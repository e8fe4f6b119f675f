"""An invalid limit never weakens protection: the Gate does not start (field case D09)."""

import re
from pathlib import Path

import numpy as np
import pytest

from interlock.gate import parse_config, read_config
from interlock.gate.errors import GateConfigError
from interlock.gate.limits import resolve
from interlock.robots import panda

SHIPPED = sorted((Path(__file__).parents[2] / "configs/gate").glob("*.yml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_every_shipped_configuration_is_acceptable(path):
    assert read_config(path).build_checks()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("chekcs: {path: }", "unknown key 'chekcs'; did you mean 'checks'"),
        ("checks: {pth: }", "no check 'pth'; did you mean 'path'"),
        ("checks: {path: {fixture_margin: 0.1}}", "did you mean 'fixture_margin_m'"),
        ("checks: {path: {fixture_margin_m: -0.1}}", "expected 0 to 1"),
        ("checks: {path: {fixture_margin_m: .nan}}", "got NaN"),
        ("checks: {tool_speed: }", "key 'limit_mps' is missing"),
        ("checks: {tool_speed: {limit_mps: 0}}", "expected above 0"),
        ("checks: {tool_speed: {name: x, limit_mps: 1}}", "unknown key 'name'"),
        ("checks: {workspace: {low_m: [0, 0, 0], high_m: [1, 1]}}", "expected 3 values, got 2"),
        ("checks: {workspace: {low_m: [0, 0, 1], high_m: [1, 1, 0]}}", "expected low_m below"),
        ("checks: {path: {margins_m: {cup: -1}}}", "cup: expected 0 to 1 m"),
        ("limits: {velocity_scale: 0}", "above 0 up to 1"),
        ("limits: {velocity_scale: 1.5}", "above 0 up to 1"),
        ("lead_ms: -1", "lead_ms: expected 0 to"),
        ("mode: off", "expected one of"),
        ("zones: [{name: z, shape: box, size_m: [1, 1]}]", "a box has 3 sizes"),
        ("zones: [{name: z, shape: ball, size_m: [1]}]", "expected one of"),
        ("checks: {path: , path: }", "given twice"),
    ],
)
def test_what_is_not_acceptable_is_named(text, says):
    with pytest.raises(GateConfigError, match=re.escape(says)):
        parse_config(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[1, 1]", "expected 7 values, one per joint, got 2"),
        ("[1, 1, 1, 1, 1, 1, -0.1]", "joint7: expected above 0"),
        ("[1, 1, 1, 1, 1, 1, 0]", "joint7: expected above 0"),
        ("[1, 1, 1, 1, 1, 1, 99]", "robot's own 2.61, got 99"),
        ("{joint8: 1.0}", "unknown joint 'joint8'; did you mean"),
        ("{joint1: .inf}", "expected finite numbers"),
        ("[[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1]]", "expected"),
    ],
)
def test_a_limit_that_is_no_limit_for_this_robot_is_refused(text, says):
    with pytest.raises(GateConfigError, match=re.escape(says)):
        resolve_velocity(text)


def resolve_velocity(text):
    config = parse_config(f"limits: {{velocity: {text}}}")
    return resolve(config.limits, panda.LIMITS, panda.JOINT_NAMES)


def test_a_limit_by_joint_name_leaves_the_others_at_the_robots_own():
    config = parse_config("limits: {velocity: {joint2: 0.5}, velocity_scale: 0.5}")
    limits = resolve(config.limits, panda.LIMITS, panda.JOINT_NAMES)
    assert limits.velocity[1] == 0.25
    assert limits.velocity[0] == panda.LIMITS.velocity[0] * 0.5


def test_a_range_wider_than_the_robots_own_is_refused():
    config = parse_config("limits: {position_high: {joint1: 3.2}}")
    with pytest.raises(GateConfigError, match="inside the robot's own"):
        resolve(config.limits, panda.LIMITS, panda.JOINT_NAMES)


def test_jerk_is_never_unlimited():
    limits = resolve(parse_config("mode: enforce").limits, panda.LIMITS, panda.JOINT_NAMES)
    assert np.isfinite(limits.jerk).all()
