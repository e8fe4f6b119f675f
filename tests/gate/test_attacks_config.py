"""A guard in a configuration that no check would enforce: the Gate does not start."""

import pytest

from interlock.gate import parse_config
from interlock.gate.errors import GateConfigError

ZONE = "zones: [{name: window, shape: sphere, size_m: [0.1]}]\n"
RANGE = "limits: {position_high: {panda_joint1: 1.0}}\n"


@pytest.mark.parametrize("checks", ["checks: {joint_range: }", "checks: {recovery: }"])
def test_a_zone_without_the_check_of_the_path_is_refused(checks):
    with pytest.raises(GateConfigError, match=r"zones: .* add path"):
        parse_config(ZONE + checks)


def test_a_range_of_positions_without_its_check_is_refused():
    with pytest.raises(GateConfigError, match=r"position_high: .* add joint_range"):
        parse_config(RANGE + "checks: {path: }")


@pytest.mark.parametrize("text", [ZONE + "checks: {path: }", RANGE + "checks: {joint_range: }"])
def test_with_its_check_it_is_accepted(text):
    assert parse_config(text).checks
