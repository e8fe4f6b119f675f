"""A hold is admitted whatever the data, so it must not carry anything that would need a check."""

import numpy as np
import pytest

from interlock.messages import Command


@pytest.mark.parametrize(("width_m", "force_n"), [(0.5, 9000.0), (-1.0, 40.0), (0.04, 40.0)])
def test_a_hold_can_not_move_the_gripper_past_its_checks(asked_rig, width_m, force_n):
    hold = Command(
        task=asked_rig.token, space="hold", gripper_m=np.array([width_m]), gripper_force_n=force_n
    )
    verdict = asked_rig.judge(hold)
    assert verdict.codes == ("malformed",)
    assert "use space gripper" in verdict.sentence
    assert asked_rig.sent == []


def test_a_hold_with_empty_rows_and_a_gripper_for_each_is_malformed_too(asked_rig):
    hold = Command(
        task=asked_rig.token, space="hold", targets=np.zeros((3, 0)), gripper_m=np.full(3, 0.5)
    )
    assert asked_rig.judge(hold).codes == ("malformed",)
