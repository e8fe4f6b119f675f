import pytest

from interlock.gate.authority import MAX_TASKS_PER_SOURCE, Authority
from interlock.messages import TaskRequest

MS = 1_000_000


@pytest.fixture
def authority():
    return Authority(secret=b"s" * 32)


def ask(authority, request, source="a", now_ns=0, **fields):
    asked = TaskRequest(request=request, owner=fields.pop("owner", "me"), name="t", **fields)
    return authority.request(asked, source, now_ns)


def test_a_free_resource_is_granted_and_a_taken_one_is_queued(authority):
    first = ask(authority, "1")
    authority.hand_over(arm_at_rest=True)
    second = ask(authority, "2", source="b")
    assert authority.hand_over(arm_at_rest=True) == []
    assert authority.reason(first.task, "a", {"arm"}) is None
    assert authority.reason(second.task, "b", {"arm"}).code == "queued"


def test_a_repeated_request_gets_the_same_token(authority):
    assert ask(authority, "1").task == ask(authority, "1").task
    assert ask(authority, "1").task != ask(authority, "1", source="b").task


def test_the_next_one_gets_the_arm_only_when_it_is_at_rest(authority):
    first, second = ask(authority, "1"), ask(authority, "2", source="b")
    authority.hand_over(arm_at_rest=True)
    authority.end(first.task, reason="done", finished=True)
    assert authority.hand_over(arm_at_rest=False) == []
    assert [g.task for g in authority.hand_over(arm_at_rest=True)] == [second.task]


def test_the_queue_goes_by_priority_then_by_arrival(authority):
    first = ask(authority, "1")
    authority.hand_over(arm_at_rest=True)
    low, high = ask(authority, "2", source="b"), ask(authority, "3", source="c", priority=100)
    authority.end(first.task, reason="done")
    assert authority.hand_over(arm_at_rest=True)[0].task == high.task
    authority.end(high.task, reason="done")
    assert authority.hand_over(arm_at_rest=True)[0].task == low.task


def test_arm_and_gripper_can_belong_to_different_tasks(authority):
    arm = ask(authority, "1", resources=("arm",))
    gripper = ask(authority, "2", source="b", resources=("gripper",))
    authority.hand_over(arm_at_rest=True)
    assert authority.reason(arm.task, "a", {"arm"}) is None
    assert authority.reason(arm.task, "a", {"gripper"}).code == "not_held"
    assert authority.reason(gripper.task, "b", {"gripper"}) is None


def test_a_token_is_of_no_use_to_another_node(authority):
    token = ask(authority, "1").task
    authority.hand_over(arm_at_rest=True)
    reason = authority.reason(token, "thief", {"arm"})
    assert reason.code == "not_owner"
    assert "belongs to a, the command came from thief" in reason.sentence


def test_a_child_borrows_from_its_parent_and_gives_back(authority):
    parent = ask(authority, "1")
    authority.hand_over(arm_at_rest=True)
    child = ask(authority, "2", parent=parent.task)
    authority.hand_over(arm_at_rest=False)
    assert authority.reason(child.task, "a", {"arm"}) is None
    assert authority.reason(parent.task, "a", {"arm"}).code == "lent"
    authority.end(child.task, reason="done", finished=True)
    assert authority.reason(parent.task, "a", {"arm"}) is None


def test_a_parent_takes_its_children_with_it_but_not_the_detached(authority):
    parent = ask(authority, "1")
    authority.hand_over(arm_at_rest=True)
    child = ask(authority, "2", parent=parent.task)
    free = ask(authority, "3", parent=parent.task, detached=True, resources=("gripper",))
    changed = authority.end(parent.task, reason="cancelled")
    assert {g.task for g in changed} == {parent.task, child.task}
    assert authority.live(free.task)


def test_silence_longer_than_the_lease_revokes_by_the_gates_clock(authority):
    token = ask(authority, "1", lease_ms=300).task
    authority.hand_over(arm_at_rest=True)
    authority.hear("me", "a", 200 * MS)
    assert authority.expire(500 * MS) == []
    changed = authority.expire(501 * MS)
    assert changed[0].state == "revoked"
    assert "not heard from for 301 ms, its lease is 300 ms" in changed[0].reason
    assert authority.reason(token, "a", {"arm"}).code == "revoked"


def test_another_nodes_heartbeat_does_not_keep_it_alive(authority):
    ask(authority, "1", lease_ms=100)
    authority.hear("me", "other", 99 * MS)
    assert len(authority.expire(101 * MS)) == 1


def test_a_detached_task_outlives_its_owner_and_its_node(authority):
    token = ask(authority, "1", detached=True).task
    assert authority.expire(10**12) == []
    assert authority.end_source("a", "gone") == []
    assert authority.live(token)


def test_a_lease_can_not_be_longer_than_the_configuration_allows(authority):
    ask(authority, "1", lease_ms=10**9)
    assert len(authority.expire(2001 * MS)) == 1


def test_while_blocked_nothing_is_accepted(authority):
    authority.blocked = "operator stop"
    grant = ask(authority, "1")
    assert (grant.state, grant.task, grant.reason) == ("refused", "", "operator stop")


def test_one_sender_can_not_fill_the_table(authority):
    states = [ask(authority, str(i)).state for i in range(MAX_TASKS_PER_SOURCE + 1)]
    assert states[-1] == "refused"
    assert ask(authority, "1", source="b").state == "queued"


@pytest.mark.parametrize(
    "fields",
    [
        {"resources": ("legs",)},
        {"resources": ()},
        {"lease_ms": 0},
        {"owner": "x" * 999},
        {"parent": "nobody"},
    ],
)
def test_an_unacceptable_request_is_refused_with_a_reason(authority, fields):
    grant = ask(authority, "1", **fields)
    assert grant.state == "refused"
    assert grant.reason


def test_an_unknown_token_says_what_to_do(authority):
    reason = authority.reason("made-up", "a", {"arm"})
    assert reason.code == "no_task"
    assert "Ask for a task first" in reason.way_out
