"""Many commands for the gripper while the arm moves must not change where or when it rests."""

import numpy as np

from interlock.gate.samples import end_ns
from interlock.messages import Command, Heartbeat

MS = 1_000_000
TURN = np.array([1.0, 0, 0, 0, 0, 0, 0])


def grip(rig, token, width_m):
    command = Command(task=token, space="gripper", gripper_m=np.array([width_m]))
    return rig.judge(command, source="other").admitted


def test_a_flood_of_gripper_commands_of_another_node_does_not_put_off_the_rest_of_the_arm(rig):
    arm = rig.task(resources=("arm",))
    gripper = rig.ask(source="other", resources=("gripper",)).task
    rig.send(arm, rig.home + 0.3 * TURN, 500, ends_at_rest=True)
    ends_ns = end_ns(rig.sent[-1])
    taken = 0
    while rig.now <= ends_ns + 30 * MS:
        rig.now += 3 * MS
        rig.observe()
        taken += grip(rig, gripper, 0.04 + 0.01 * (taken % 2))
        rig.gate.heartbeat(rig.received(Heartbeat(owner="me"), output="beat"), rig.now)
    assert taken > 150
    assert rig.gate.status(rig.now).at_rest
    assert rig.speed == 0
    np.testing.assert_allclose(rig.position, rig.home + 0.3 * TURN, atol=1e-9)
