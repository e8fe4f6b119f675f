"""The Gate as a whole, with the Panda's real geometry and a driver that follows it exactly."""

import numpy as np
import pytest

from interlock.gate.samples import end_ns
from interlock.messages import AdmittedCommand, Basis, Command, Event, Reset, Stop
from interlock.robots import kinematics, panda

MS = 1_000_000
TURN = np.array([0.9, 0, 0, 0, 0, 0, 0])


def down_to(z, x=0.5, y=0.0):
    found = kinematics.inverse(np.array([x, y, z, 0.0, 1.0, 0.0, 0.0]), panda.HOME)
    assert found is not None
    return found


def test_a_slow_row_is_admitted_whole_and_ends_at_rest(rig):
    verdict = rig.send(rig.task(), rig.home + 0.005)
    assert verdict.admitted
    assert verdict.codes == ()
    assert verdict.rows == 1
    assert not rig.sent[-1].velocity[-1].any()


def test_without_another_command_the_arm_stops_by_itself(rig):
    rig.stream(rig.task(), TURN, 200)
    assert rig.speed > 0.25
    rig.tick(200)
    assert rig.port.set_point(rig.now).phase == "hold"
    assert rig.speed == 0


def test_a_gate_without_checks_refuses_everything(make_rig):
    rig = make_rig("mode: enforce\n")
    verdict = rig.send(rig.task(), rig.home)
    assert not verdict.admitted
    assert verdict.codes == ("no_checks",)


def test_a_row_that_is_too_fast_is_refused_with_value_limit_and_way_out(rig):
    verdict = rig.send(rig.task(), rig.home + 0.1)
    assert verdict.codes == ("joint_velocity",)
    assert verdict.sentence == (
        "Row 0 asks joint4 for 5.00 rad/s, the limit is 2.17 rad/s. "
        "Move joint4 at most 0.0435 rad per row, or use a longer period."
    )


def test_the_nearest_acceptable_command_is_admitted(rig):
    token = rig.task()
    refused = rig.send(token, rig.home + 0.1)
    assert refused.nearest.shape == (1, 7)
    again = rig.send(token, refused.nearest, refused.nearest_period_ns / MS)
    assert again.admitted, again.sentence


def test_a_path_into_the_table_is_refused_with_part_place_and_margin(rig):
    verdict = rig.send(rig.task(), down_to(-0.01), period_ms=2000, ends_at_rest=True)
    assert not verdict.admitted
    assert "path_table" in verdict.codes
    assert any("finger would come within" in r and "of table" in r for r in verdict.reasons)


def test_a_path_through_a_cup_is_refused_though_its_end_is_clear(rig):
    token = rig.task()
    rig.see(cup_red=pose_at(0.5, 0.0))
    start, goal = down_to(0.12, y=-0.2), down_to(0.12, y=0.2)
    assert rig.send(token, start, period_ms=3000, ends_at_rest=True).admitted
    rig.tick(3200)
    low, end = down_to(0.05, y=-0.2), down_to(0.05, y=0.2)
    assert rig.send(token, low, period_ms=2000, ends_at_rest=True).admitted
    rig.tick(2200)
    verdict = rig.send(token, end, period_ms=4000, ends_at_rest=True)
    assert "path_cup_red" in verdict.codes
    assert goal is not None


def test_a_task_that_touches_the_cup_may_come_near_it(rig):
    rig.see(cup_red=pose_at(0.5, 0.0))
    other = rig.task(touches=())
    refused = rig.send(other, down_to(0.06), period_ms=3000, ends_at_rest=True)
    assert "path_cup_red" in refused.codes
    rig.cancel(other)
    token = rig.task(touches=("cup_red",))
    assert rig.send(token, down_to(0.06), period_ms=3000, ends_at_rest=True).admitted


def pose_at(x, y, z=0.05):
    return np.array([x, y, z, 1.0, 0.0, 0.0, 0.0])


def test_a_chunk_is_admitted_up_to_the_row_that_is_not_acceptable(rig):
    rows = np.linspace(rig.home, down_to(-0.02), 40)
    verdict = rig.send(rig.task(), rows, period_ms=50)
    assert verdict.admitted
    assert 10 < verdict.rows < 40
    assert "path_table" in verdict.codes
    rig.tick(3000)
    assert rig.gate.surroundings.clearance.measure(rig.position).slack_m > 0


def test_a_newer_chunk_replaces_what_has_not_been_executed(rig):
    token = rig.task()
    rig.send(token, np.linspace(rig.home, rig.home + 0.2, 50), period_ms=20)
    rig.tick(100)
    verdict = rig.send(token, np.linspace(rig.position, rig.home - 0.1, 50), period_ms=20)
    assert verdict.admitted
    rig.tick(2000)
    assert rig.position[0] < rig.home[0]


@pytest.mark.parametrize("rate_hz", [20, 50, 100])
def test_a_chunk_lasts_as_long_as_its_own_rate_says(rig, rate_hz):
    rows = rig.home + np.linspace(0, 0.3, 51)[1:, None]
    rig.send(rig.task(), rows, period_ms=1000 / rate_hz)
    stops_ns = rig.sent[-1].stop_index * rig.sent[-1].period_ns
    assert stops_ns == pytest.approx(50 / rate_hz * 1e9, rel=1e-3)


def test_rows_that_are_overdue_are_skipped_and_the_rest_keeps_its_time(rig):
    token = rig.task()
    rig.tick(200)
    rows = np.array([rig.home + 0.001 * i for i in range(1, 21)])
    verdict = rig.send(token, rows, period_ms=20, start_ns=rig.now - 100 * MS)
    assert verdict.admitted
    motion = rig.sent[-1]
    assert motion.start_ns + motion.stop_index * motion.period_ns == rig.now + 300 * MS


def test_the_age_that_counts_is_that_of_the_observation(rig):
    token = rig.task()
    rig.tick(3000)
    old = Basis(source="camera", output="image", seq=1, observed_ns=0, received_ns=rig.now)
    verdict = rig.send(token, rig.home, basis=(old,))
    assert verdict.codes == ("stale_data",)
    assert "camera/image was observed 3000 ms ago" in verdict.sentence
    assert dict(zip(verdict.age_names, verdict.ages_ms, strict=True))["camera/image"] == 3000


def test_without_a_recent_state_nothing_is_admitted(rig):
    token = rig.task()
    rig.now += 150 * MS
    assert "stale_state" in rig.send(token, rig.home).codes


def test_a_driver_that_did_not_take_a_command_is_followed_not_presumed(rig):
    token = rig.task()
    rig.stream(token, TURN, 100)
    rig.deaf = True
    rig.send(token, rig.position + TURN * 0.02)
    rig.deaf = False
    rig.tick(40)
    assert any(isinstance(x, Event) and "did not take" in x.text for x in rig.told)
    verdicts = rig.stream(token, TURN, 200)
    assert [v.sentence for v in verdicts if not v.admitted] == []
    assert rig.port.refused_count == 0


def test_a_pose_row_is_reached(rig):
    target = kinematics.forward(rig.home) + np.array([0.05, 0.05, 0, 0, 0, 0, 0])
    verdict = rig.send(rig.task(), target, period_ms=1000, space="pose", ends_at_rest=True)
    assert verdict.admitted, verdict.sentence
    rig.tick(1200)
    assert np.abs(kinematics.forward(rig.position)[:3] - target[:3]).max() < 1e-4


def test_a_pose_out_of_reach_is_refused_by_name(rig):
    far = np.array([2.0, 0.0, 0.3, 0.0, 1.0, 0.0, 0.0])
    assert rig.send(rig.task(), far, space="pose").codes == ("unreachable_pose",)


def test_the_gripper_alone_does_not_move_the_arm(rig):
    command = Command(task=rig.task(), space="gripper", gripper_m=np.array([0.02]))
    assert rig.judge(command).admitted
    rig.tick(50)
    assert rig.port.set_point(rig.now).gripper_m == 0.02
    assert np.array_equal(rig.position, rig.home)


def test_hold_stops_at_once_whatever_the_data(rig):
    token = rig.task()
    rig.stream(token, TURN, 200)
    old = Basis(source="camera", output="image", seq=1, observed_ns=-(10**12), received_ns=0)
    assert rig.judge(Command(task=token, space="hold"), basis=(old,)).admitted
    rig.tick(150)
    assert rig.speed == 0


# Stopping -----------------------------------------------------------------------------------------


def test_cancel_brings_the_arm_to_rest_and_refuses_what_comes_after(rig):
    token = rig.task()
    rig.stream(token, TURN, 200)
    sent = len(rig.sent)
    rig.cancel(token)
    assert len(rig.sent) == sent + 1
    verdict = rig.send(token, rig.position + TURN * 0.02)
    assert "revoked" in verdict.codes
    rig.tick(200)
    assert rig.gate.at_rest(rig.now)
    assert len(rig.sent) == sent + 1


def test_an_operator_stop_latches_until_a_reset_and_then_needs_a_new_task(rig):
    token = rig.task()
    rig.stream(token, TURN, 200)
    rig.deliver(rig.gate.stop(Stop(by="ann"), rig.now))
    rig.tick(300)
    assert rig.speed == 0
    stopped_at = rig.position
    assert rig.ask().state == "refused"
    assert "operator_stop" in rig.send(token, rig.position + 0.005).codes
    rig.deliver(rig.gate.reset(Reset(by="ann"), rig.now))
    assert "revoked" in rig.send(token, rig.position + 0.005).codes
    assert np.array_equal(rig.position, stopped_at)
    assert rig.send(rig.task(), rig.position + 0.001).admitted


def test_a_stop_before_anything_is_connected_counts(make_rig):
    rig = make_rig()
    rig.gate.stop(Stop(by="ann"), 0)
    rig.observe()
    assert rig.ask().state == "refused"
    assert rig.gate.status(rig.now).state == "stopped"


def test_a_silent_owner_loses_the_arm_and_it_comes_to_rest(rig):
    token = rig.task(lease_ms=200)
    rows = rig.home + TURN * 0.02 * np.arange(1, 101)[:, None]
    rig.send(token, rows, period_ms=20)
    rig.tick(400, alive=())
    assert rig.gate.at_rest(rig.now)
    assert "not heard from for" in rig.send(token, rig.position).sentence


def test_a_dead_node_loses_the_arm_at_once(rig):
    token = rig.task()
    rig.send(token, rig.home + TURN * 0.02 * np.arange(1, 101)[:, None], period_ms=20)
    rig.tick(200)
    rig.deliver(rig.gate.gone("policy", rig.now))
    rig.tick(150)
    assert rig.gate.at_rest(rig.now)


def test_an_object_that_comes_into_the_way_stops_the_arm_clear_of_it(rig):
    token = rig.task()
    rig.see(cup_red=pose_at(0.5, 0.4))
    assert rig.send(token, down_to(0.05, y=-0.2), period_ms=3000, ends_at_rest=True).admitted
    rig.tick(3200)
    end = down_to(0.05, y=0.2)
    assert rig.send(token, end, period_ms=4000, ends_at_rest=True).admitted
    rig.tick(500)
    rig.see(cup_red=pose_at(0.5, 0.1))
    assert isinstance(rig.told[-1], AdmittedCommand)
    rig.tick(500)
    assert rig.gate.at_rest(rig.now)
    assert rig.gate.surroundings.clearance.measure(rig.position).slack_m > 0


def test_an_arm_that_is_too_near_may_retreat_but_not_come_nearer(rig):
    token = rig.task()
    rig.send(token, down_to(0.05), period_ms=3000, ends_at_rest=True)
    rig.tick(3200)
    tool = kinematics.forward(rig.position)
    rig.see(cup_red=pose_at(tool[0] + 0.045, tool[1]))
    nearer = rig.send(token, down_to(0.05, x=0.51), period_ms=500, ends_at_rest=True)
    assert "path_cup_red" in nearer.codes
    up = [tool + np.array([0, 0, 0.002 * i, 0, 0, 0, 0]) for i in range(21)]
    retreat = rig.send(token, up, period_ms=50, space="pose")
    assert retreat.codes == (), retreat.sentence
    rig.tick(1200)
    assert kinematics.forward(rig.position)[2] > tool[2] + 0.035


def test_many_small_steps_can_not_creep_nearer_than_a_retreat_began(rig):
    token = rig.task()
    rig.send(token, down_to(0.05), period_ms=3000, ends_at_rest=True)
    rig.tick(3200)
    tool = kinematics.forward(rig.position)
    rig.see(cup_red=pose_at(tool[0] + 0.045, tool[1]))
    for _ in range(60):
        nearer = rig.position + (down_to(0.05, x=0.53) - down_to(0.05)) * 0.004
        rig.send(token, nearer, ends_at_rest=True)
        rig.tick(40)
    assert kinematics.forward(rig.position)[0] < tool[0] + 0.0015


def test_shadow_admits_and_says_what_it_would_refuse(make_rig):
    rig = make_rig(DEFAULT_SHADOW)
    verdict = rig.send(rig.task(), down_to(0.0), period_ms=2000, ends_at_rest=True)
    assert verdict.admitted
    assert verdict.mode == "shadow"
    assert "path_table" in verdict.codes


def test_modify_limits_a_command_and_says_so(make_rig):
    rig = make_rig(DEFAULT_SHADOW.replace("shadow", "modify"))
    verdict = rig.send(rig.task(), rig.home + 0.1)
    assert verdict.admitted
    assert verdict.codes == ("joint_velocity",)
    assert verdict.nearest_period_ns > 20 * MS or np.abs(verdict.nearest - rig.home).max() < 0.1


DEFAULT_SHADOW = "mode: shadow\nchecks: {joint_velocity: , path: , recovery: }\n"


def test_every_admitted_command_continues_the_one_before_without_a_step(rig):
    rng = np.random.default_rng(3)
    token = rig.task()
    velocity = np.zeros(7)
    for _ in range(40):
        velocity += rng.normal(0, 0.1, 7)
        rig.stream(token, velocity, 20)
    assert rig.port.refused_count == 0
    assert len(rig.sent) > 30
    limits = rig.gate._judge._planner.limits
    for motion in rig.sent:
        assert (np.abs(motion.velocity) <= limits.velocity * 1.02).all()
        assert (np.abs(motion.acceleration) <= limits.acceleration * 1.02).all()
        assert end_ns(motion) > 0


def test_a_node_that_was_started_again_has_lost_what_it_owned(rig):
    token = rig.task()
    rig.stream(token, TURN, 200)
    rig._seq.clear()
    grant = rig.ask()
    assert grant.task != token
    rig.tick(200)
    assert rig.gate.at_rest(rig.now)
    assert "started again" in rig.send(token, rig.position).sentence


def test_a_command_that_was_sent_before_is_refused(rig):
    token = rig.task()
    command = Command(task=token, space="hold")
    received = rig.received(command)
    assert rig.gate.judge(received, rig.now)[0].admitted
    assert rig.gate.judge(received, rig.now)[0].codes == ("out_of_order",)


def test_the_arm_rests_where_it_was_predicted_to_and_the_error_widens_the_margin(rig):
    token = rig.task()
    for _ in range(6):
        rig.stream(token, TURN * 0.3, 100)
        rig.tick(200)
    errors = rig.gate.rest_errors
    assert len(errors.errors_m) >= 5
    assert max(errors.errors_m) < 1e-9
    errors.errors_m.extend([0.003] * 50)
    before = rig.gate.surroundings.clearance.measure(rig.position).slack_m
    rig.tick(10)
    after = rig.gate.surroundings.clearance.measure(rig.position).slack_m
    assert before - after == pytest.approx(0.003, abs=1e-4)


def test_a_second_agent_waits_until_the_first_has_brought_the_arm_to_rest(rig):
    first = rig.task()
    rig.stream(first, TURN, 200)
    second = rig.ask(source="other", owner="you")
    assert second.state == "queued"
    assert "queued" in rig.send(second.task, rig.position, source="other").codes
    rig.cancel(first, finished=True)
    granted = [x for x in rig.told if getattr(x, "state", "") == "granted"]
    assert [g.task for g in granted] == [first]
    rig.tick(200)
    assert rig.gate.authority.holder("arm") == second.task


def test_a_flood_of_one_sender_is_refused_and_another_one_is_heard(rig):
    token = rig.task()
    codes = [rig.judge(Command(task="none", space="hold"), "flood").codes for _ in range(200)]
    assert codes[-1] == ("rate",)
    assert rig.send(token, rig.home + 0.001).admitted
    rig.tick(500)
    assert rig.judge(Command(task="none", space="hold"), "flood").codes == ("no_task",)


def test_a_stop_that_the_driver_did_not_get_is_sent_until_it_brakes(rig):
    token = rig.task()
    rig.send(token, rig.home + TURN * 0.02 * np.arange(1, 101)[:, None], period_ms=20)
    rig.tick(200)
    rig.deaf = True
    rig.cancel(token)
    rig.tick(30)
    rig.deaf = False
    rig.tick(250)
    assert rig.gate.at_rest(rig.now)
    assert rig.position[0] < rig.home[0] + TURN[0] * 0.8
