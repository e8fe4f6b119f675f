"""`why` names the cause that was planted, and says "unknown" rather than a wrong one."""

import pytest

from interlock.messages import Stop
from interlock.operators.trace.explain import explain

EMPTY = {"code": "empty_grasp", "reason": "the fingers closed on nothing"}


def why(trace, cause, *words):
    """Assert the cause and that the paragraph names what matters."""
    found = explain(trace)
    assert found.cause == cause, found.text
    for word in words:
        assert word in found.text
    return found


@pytest.mark.parametrize("moved_m", [0.03, 0.08, 0.3])
def test_a_cup_pushed_while_hidden_is_a_grasp_on_stale_data(run, moved_m):
    run.seen_until_ms = 1000
    run.cup[1] += moved_m
    run.play(0.7)
    run.close_fingers()
    run.commands, run.seen_until_ms = False, float("inf")
    run.play(0.3)
    found = why(run.end(**EMPTY), "stale_data", "cup_red", f"moved {moved_m * 100:.1f} cm")
    assert found.basis[-1].startswith("sim/state")


@pytest.mark.parametrize("hidden_s", [0.8, 1.5, 3.0])
def test_a_cup_never_seen_again_is_a_grasp_on_stale_data(run, hidden_s):
    run.seen_until_ms = 1000
    run.play(hidden_s)
    run.close_fingers()
    run.commands = False
    run.play(0.5)
    why(run.end(**EMPTY), "stale_data", "cup_red", "and not again")


@pytest.mark.parametrize("code", ["stale_data", "stale_state", "data_age"])
def test_a_refusal_for_old_data_is_stale_data(run, code):
    run.seen_until_ms = 1000
    run.play(1.0)
    run.command(codes=[code], sentence="tracker/objects was observed 1000 ms ago, allowed 500 ms")
    why(run.end(code="refused"), "stale_data", "1000 ms ago")


def test_a_task_that_reports_stale_data_is_believed(run):
    run.seen_until_ms = 1000
    run.play(1.0)
    why(run.end(code="stale_data", reason="'cup_red' is 2000 ms old"), "stale_data", "2000 ms old")


@pytest.mark.parametrize("code", ["joint_velocity", "workspace", "path_table", "path_late_plate"])
def test_a_refused_motion_is_a_refusal(run, code):
    run.command(codes=[code], sentence="joint 3 would move at 4.1 rad/s, limit 2.6")
    found = why(run.end(code="refused"), "refusal", code, "limit 2.6", "policy")
    assert found.basis[0].startswith("policy/command")


def test_a_refusal_tells_when_the_driver_had_refused_before(run):
    run.robot = {"refused": 1, "refusal": "old: it arrived 9 ms late"}
    run.play(0.2)
    run.command(codes=["joint_velocity"], sentence="too fast")
    why(run.end(code="refused", reason="too fast"), "refusal", "it arrived 9 ms late")


def test_a_monitor_that_holds_the_arm_is_a_refusal(run):
    run.status = {"state": "held", "reason": "a person is 0.2 m away"}
    run.play(1.0)
    why(run.end(code="timeout"), "refusal", "a person is 0.2 m away")


REASONS = ["its owner 'policy' ended", "owner policy was not heard for 300 ms", "parent ended"]


@pytest.mark.parametrize("reason", REASONS)
def test_an_owner_that_went_away_is_a_cancel(run, reason):
    run.grant("revoked", reason)
    run.play(0.2)
    why(run.end(code="authority_lost"), "cancelled", reason)


@pytest.mark.parametrize("source", ["operator", "session", "mcp"])
def test_a_cancel_from_outside_names_who(run, source):
    run.cancel(source, reason="changed my mind")
    run.play(0.2)
    why(run.end("cancelled", "cancelled", "changed my mind"), "cancelled", source)


@pytest.mark.parametrize("taker", ["jog", "home", "inspect"])
def test_a_task_pushed_aside_has_lost_its_authority(run, taker):
    run.grant("revoked", "a task of higher priority took over")
    run.begin(name="x")
    run.token = "t2"
    run.begin(name=taker, owner="operator")
    run.token = "t1"
    run.play(0.2)
    why(run.end(code="authority_lost"), "lost_authority", "higher priority", taker)


@pytest.mark.parametrize("code", ["authority", "task_revoked", "unknown_token"])
def test_a_command_without_authority_is_lost_authority(run, code):
    run.command(codes=[code], sentence="task t1 does not hold the arm")
    why(run.end(code="refused"), "lost_authority", "does not hold the arm")


@pytest.mark.parametrize("fell_m", [0.012, 0.03, 0.05])
@pytest.mark.parametrize("code", ["slipped", "error", ""])
def test_an_object_that_leaves_the_fingers_has_slipped(run, fell_m, code):
    run.close_fingers()
    run.robot = {"gripper_width_m": 0.055, "gripper_target_m": 0.0, "gripper_force_n": 20.0}
    run.play(1.0)
    run.robot |= {"gripper_width_m": 0.055 - fell_m, "gripper_force_n": 0.0}
    run.play(0.3)
    why(run.end(code=code, reason="lost it"), "slipped", "55 mm")


@pytest.mark.parametrize("node", ["camera", "tracker", "sim"])
def test_a_node_that_fell_silent_is_dead(run, node):
    run.until_ms[node] = 1000
    run.play(1.5)
    why(run.end(code="stale_data", reason="cup_red is old"), "dead_node", f"Node {node}")


@pytest.mark.parametrize("node", ["camera", "tracker", "gate"])
def test_a_node_reported_dead_is_named_with_its_reason(run, node):
    run.event("trace", f"{node}/x closed", node=node, output="x", reason=f"node {node} died: 9")
    run.play(0.1)
    why(run.end(code="timeout"), "dead_node", f"Node {node}", "died: 9")


def test_a_gate_that_restarted_is_a_dead_node(run):
    run.status = {"boot": "b"}
    run.play(0.2)
    why(run.end(code="authority_lost", reason="the Gate has restarted"), "dead_node", "gate")


def test_a_policy_that_died_leaves_no_result(run):
    run.until_ms["policy"] = 1200
    run.play(2.0)
    why(run.plant.trace(), "dead_node", "policy", "no task had reported a result")


@pytest.mark.parametrize("thinking_ms", [600, 900, 2500])
def test_an_answer_that_took_too_long_is_a_late_policy(run, thinking_ms):
    run.commands = False
    run.command(codes=["stale_data"], sentence="camera/image is old", thinking_ms=thinking_ms)
    run.play(thinking_ms / 1e3 + 0.1)
    why(run.end(code="refused"), "late_policy", f"{thinking_ms // 100}")


@pytest.mark.parametrize("thinking_ms", [700, 1500])
def test_a_policy_that_lost_its_lease_while_it_thought_is_late(run, thinking_ms):
    run.commands, run.until_ms["policy"] = False, 1001
    run.command(thinking_ms=thinking_ms)
    run.play(0.4)
    run.grant("revoked", "its owner 'policy' was not heard from for 320 ms, its lease is 300 ms")
    run.until_ms.clear()
    run.now_ms += thinking_ms
    why(run.end(code="authority_lost"), "late_policy", "gave no sign of life")


@pytest.mark.parametrize("code", ["deadline", "command_expired", "start_in_past"])
def test_a_missed_deadline_is_a_late_policy(run, code):
    run.command(codes=[code], sentence="the deadline was 40 ms ago", thinking_ms=40)
    run.now_ms += 50
    why(run.end(code="refused"), "late_policy", "40 ms ago")


@pytest.mark.parametrize("thinking_ms", [700, 1500, 3000])
def test_an_arm_that_ran_into_its_stop_waiting_is_a_late_policy(run, thinking_ms):
    run.commands = False
    run.command(thinking_ms=thinking_ms)
    run.robot = {"phase": "stop"}
    run.play(thinking_ms / 1e3)
    run.robot, run.commands = {}, True
    run.play(0.3)
    why(run.end(code="timeout"), "late_policy", "ran into its verified stop")


FAULTS = ["QACC of DOF 3 is 1e12 at step 712", "nan in qpos", "penetration 4 cm"]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("code", ["empty_grasp", "timeout", "refused"])
def test_an_exploded_scene_is_an_invalid_simulation(run, fault, code):
    run.robot = {"fault": fault}
    run.play(0.3)
    why(run.end(code=code), "simulation_invalid", fault)


@pytest.mark.parametrize("code", ["authority_lost", "cancelled", "refused", "timeout"])
def test_an_operator_stop_outranks_what_follows_from_it(run, code):
    run.send("operator/stop", Stop(by="alice", reason="a hand"))
    run.grant("revoked", "operator stop")
    run.command(codes=["operator_stop"], sentence="stopped")
    run.status = {"state": "stopped", "reason": "stop by alice"}
    run.play(0.3)
    why(run.end("stopped", code), "operator_stop", "alice", "a hand")


def test_a_stop_pressed_at_the_gates_own_socket_is_seen_in_its_status(run):
    run.status = {"state": "stopped", "reason": "stop by bob"}
    run.play(0.3)
    why(run.end("stopped"), "operator_stop", "stop by bob")
