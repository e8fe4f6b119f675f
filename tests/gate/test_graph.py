import shutil
from pathlib import Path

import pytest

from interlock.gate.errors import GraphError
from interlock.gate.graph import gate_problems, require_only_way, trace_problems
from interlock.gate.graph_nodes import SHIPPED, read_nodes

ROOT = SHIPPED.parent
TICK = "dora/timer/millis/20"


def node(name, path, inputs=None, outputs=(), **more):
    return {"id": name, "path": path, "inputs": inputs or {}, "outputs": list(outputs), **more}


def sound():
    return [
        node("arm", "nodes/simulator.py", {"command": "judge/command", "tick": TICK}, ["state"]),
        node("brain", "nodes/policy.py", {"state": "arm/state"}, ["command"]),
        node(
            "judge",
            "nodes/gate.py",
            {"command": "brain/command", "state": {"source": "arm/state", "queue_size": 1}},
            ["command", "verdict"],
        ),
        node("log", "nodes/trace_sink.py", {"a": "arm/state"}),
    ]


def problems(nodes, folder=ROOT, drivers=()):
    return [p.text for p in gate_problems(read_nodes({"nodes": nodes}, folder, drivers=drivers))]


def test_a_graph_whose_driver_hears_only_the_gate_is_sound_whatever_the_ids():
    assert problems(sound()) == []
    require_only_way({"nodes": sound()}, ROOT)


def test_a_direct_edge_to_the_driver_is_refused_with_the_edge_to_write_instead():
    nodes = sound()
    nodes[0]["inputs"]["command"] = "brain/command"
    with pytest.raises(GraphError, match=r"hears brain/command, past the Gate.*judge/command"):
        require_only_way({"nodes": nodes}, ROOT)


@pytest.mark.parametrize("source", ["brain/command", "judge/verdict", "dora/logs/brain", "x/y"])
def test_a_second_input_of_the_driver_is_refused(source):
    nodes = sound()
    nodes[0]["inputs"]["extra"] = {"source": source, "queue_size": 1}
    assert any(f"hears {source}" in p for p in problems(nodes))


def test_the_simulators_world_may_be_disturbed_but_not_by_a_node_that_commands():
    nodes = sound()
    nodes[0]["inputs"]["disturb"] = "people/event"
    assert problems([*nodes, node("people", "people.py", {}, ["event"])]) == []
    nodes[0]["inputs"]["disturb"] = "brain/event"
    assert any("hears brain/event" in p for p in problems(nodes))


@pytest.mark.parametrize("port", ["operator_reset", "operator_reset_b", "state", "objects_b"])
def test_a_node_that_commands_may_not_say_how_the_world_is_or_release_a_stop(port):
    nodes = sound()
    nodes[2]["inputs"][port] = "brain/event"
    assert any("which moves the robot" in p for p in problems(nodes))
    nodes[2]["inputs"][port] = "people/event"
    assert problems([*nodes, node("people", "people.py", {}, ["event"])]) == []


def test_a_node_that_commands_may_stop_the_robot():
    nodes = sound()
    nodes[2]["inputs"]["operator_stop"] = "brain/event"
    assert problems(nodes) == []


def test_a_node_named_gate_that_is_another_program_is_not_the_gate():
    nodes = sound()
    nodes[2]["path"] = "my_gate.py"
    assert any("has no Gate before it" in p for p in problems(nodes))


def test_a_changed_copy_of_the_gate_is_not_the_gate(tmp_path):
    shutil.copytree(SHIPPED, tmp_path / "nodes")
    assert problems(sound(), tmp_path) == []  # a checkout beside an installed wheel
    with (tmp_path / "nodes" / "gate.py").open("a") as file:
        file.write("# nothing\n")
    assert any("has no Gate before it" in p for p in problems(sound(), tmp_path))


def test_a_wrapped_gate_is_not_the_gate():
    nodes = sound()
    nodes[2] |= {"path": "python", "args": "evil.py nodes/gate.py"}
    assert any("has no Gate before it" in p for p in problems(nodes))


@pytest.mark.parametrize("how", ["link", "copy", "dots", "python", "module", "code", "shell"])
def test_a_second_driver_is_found_however_it_is_reached(tmp_path, how):
    (tmp_path / "link.py").symlink_to(SHIPPED / "simulator.py")
    shutil.copy(SHIPPED / "simulator.py", tmp_path / "copy.py")
    program = {
        "link": {"path": str(tmp_path / "link.py")},
        "copy": {"path": str(tmp_path / "copy.py")},
        "dots": {"path": "nodes/../nodes/simulator.py"},
        "python": {"path": "python", "args": "-u nodes/simulator.py"},
        "module": {"path": "python", "args": "-m interlock.nodes.simulator"},
        "code": {"path": "python", "args": "-c 'import interlock.nodes.simulator as s; s.main()'"},
        "shell": {"path": "shell", "args": "cd / && python nodes/simulator.py"},
    }[how]
    second = node("second", "", {"command": "brain/command", "tick": TICK}) | program
    found = problems([*sound(), second])
    assert any("both drive a robot" in p for p in found)
    assert any("'second' hears brain/command" in p for p in found)


@pytest.mark.parametrize(
    "program",
    [{"path": "my_arm.py"}, {"path": "dynamic"}, {"operator": {"python": "arm.py"}}],
    ids=["own-driver", "dynamic", "operator"],
)
def test_a_foreign_node_that_hears_the_policy_is_refused(program):
    entry = {"id": "x", **program}
    place = entry.get("operator", entry)
    place["inputs"] = {"wanted": "brain/command"}
    [problem] = problems([*sound(), entry])
    assert "hears brain/command before the Gate has judged it" in problem
    assert "judge/command" in problem


def test_a_driver_of_real_hardware_is_named_and_held_to_the_same_rule():
    nodes = sound()[1:]
    nodes[0]["inputs"] = nodes[1]["inputs"] = {}
    hardware = node("arm", "my_arm.py", {"command": "judge/command", "go": "brain/command"})
    found = problems([hardware, *nodes], drivers=("arm",))
    assert found == [
        "input 'go' of driver 'arm' hears brain/command, past the Gate; "
        "a driver hears only judge/command and timers"
    ]


def test_a_driver_as_an_operator_is_refused():
    entry = {"id": "arm", "operator": {"python": "nodes/simulator.py", "inputs": {}}}
    assert any("is a dora Operator" in p for p in problems([entry, *sound()[1:]]))


def test_two_gates_are_refused():
    assert any("both run the Gate" in p for p in problems([*sound(), node("g", "nodes/gate.py")]))


def test_an_output_that_the_trace_does_not_read_is_named_with_the_line_to_add():
    texts = [p.text for p in trace_problems(read_nodes({"nodes": sound()}, ROOT))]
    assert len(texts) == 3
    assert "brain_command: {source: brain/command, queue_size: 20000}" in texts[0]


def test_a_graph_without_a_trace_is_told_so():
    [problem] = trace_problems(read_nodes({"nodes": sound()[:3]}, ROOT))
    assert "nodes/trace_sink.py" in problem.text


@pytest.mark.parametrize("nodes", [None, {}, ["a"], [{"path": "x.py"}], [{"id": "a"}, {"id": "a"}]])
def test_what_is_no_list_of_nodes_with_ids_is_refused(nodes):
    with pytest.raises(GraphError):
        read_nodes({"nodes": nodes}, Path())
