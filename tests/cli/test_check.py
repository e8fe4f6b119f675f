import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from interlock.cli.dataflow_check import check_dataflow

ROOT = Path(__file__).parents[2]
TICK = "dora/timer/millis/100"


def entry(dataflow, name):
    return next(n for n in dataflow["nodes"] if n["id"] == name)


@pytest.fixture
def check(tmp_path):
    """Check the default dataflow after a change; return the problems and the file's lines."""

    def run(change=lambda dataflow: None):
        dataflow = yaml.safe_load((ROOT / "dataflow.yml").read_text())
        for node in dataflow["nodes"]:
            node["path"] = str(ROOT / node["path"])
        change(dataflow)
        file = tmp_path / "changed.yml"
        file.write_text(yaml.safe_dump(dataflow, sort_keys=False))
        return list(check_dataflow(file).problems), file

    return run


def line(file, text):
    """Return the number of the first line that holds a text."""
    lines = file.read_text().splitlines()
    return next(i for i, x in enumerate(lines, 1) if text in x)


def test_the_default_dataflow_is_sound(check):
    assert check()[0] == []


def test_a_way_past_the_gate_is_named_with_file_and_line(check):
    def change(dataflow):
        entry(dataflow, "simulator")["inputs"]["command"] = {"source": "policy/command"}

    problems, file = check(change)
    assert (
        f"{file}:{line(file, '    command:')}: input 'command' of driver 'simulator'" in problems[0]
    )


def test_an_output_that_the_trace_misses_is_named(check):
    def change(dataflow):
        del entry(dataflow, "trace")["inputs"]["policy_command"]

    [problem] = [p for p in check(change)[0]]
    assert "the trace does not read policy/command" in problem


@pytest.mark.parametrize(
    ("node", "key", "value", "words"),
    [
        ("camera", "state", "simulator/stat", "no output 'stat'; did you mean 'state'?"),
        ("camera", "state", "simulatr/state", "no node 'simulatr'; did you mean 'simulator'?"),
        ("camera", "state", "gate/verdict", "takes RobotState, but gate/verdict sends Verdict"),
        ("camera", "stat", "simulator/state", "has no input 'stat'; did you mean 'state'?"),
    ],
)
def test_an_edge_whose_ends_do_not_fit_is_named(check, node, key, value, words):
    def change(dataflow):
        entry(dataflow, node)["inputs"][key] = value

    assert any(words in p for p in check(change)[0])


def test_an_unknown_setting_is_refused_with_the_nearest_name_and_its_line(check):
    def change(dataflow):
        entry(dataflow, "camera")["env"] = {"WIDTH": 224, "HIGHT": 224}

    problems, file = check(change)
    assert problems == [
        f"{file}:{line(file, 'HIGHT')}: node 'camera': env: unknown setting 'HIGHT'; "
        "did you mean 'HEIGHT'?"
    ]


def test_a_setting_of_the_wrong_type_is_refused(check):
    def change(dataflow):
        entry(dataflow, "camera")["env"] = {"WIDTH": "wide"}

    assert "expected a whole number, got str 'wide'" in check(change)[0][0]


def test_a_misspelt_key_of_an_input_is_refused_though_dora_ignores_it(check):
    def change(dataflow):
        entry(dataflow, "gate")["inputs"]["state"] = {"source": "simulator/state", "queu_size": 1}

    assert "unknown key 'queu_size'; did you mean 'queue_size'?" in check(change)[0][0]


def test_backpressure_on_an_observation_is_refused(check):
    def change(dataflow):
        edge = entry(dataflow, "trace")["inputs"]["camera_image"]
        edge["queue_policy"] = "backpressure"

    assert "lets a slow reader stop the sender" in check(change)[0][0]


def test_a_small_queue_of_the_trace_is_refused(check):
    def change(dataflow):
        entry(dataflow, "trace")["inputs"]["gate_verdict"] = "gate/verdict"

    assert "keeps 10 messages of gate/verdict" in check(change)[0][0]


def test_a_node_without_a_timer_is_refused(check):
    def change(dataflow):
        del entry(dataflow, "tracker")["inputs"]["tick"]

    assert "node 'tracker' has no timer" in check(change)[0][0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import nonsense_module\nNODE = 1\n", "No module named 'nonsense_module'"),
        ("def main(:\n", "invalid syntax"),
        ("import nonsense_module\n", "'nonsense_module' is not installed"),
        ("raise RuntimeError('no device')\nNODE = 1\n", "RuntimeError: no device"),
        ("NODE = 1\n", "has no NODE"),
    ],
)
def test_a_node_file_that_fails_to_import_is_one_clear_line(check, tmp_path, text, words):
    (tmp_path / "mine.py").write_text(text)

    def change(dataflow):
        entry(dataflow, "tracker")["path"] = "mine.py"

    problems, _ = check(change)
    [problem] = [p for p in problems if words in p]
    assert "node 'tracker'" in problem
    assert "\n" not in problem
    assert "mine.py" in problem


def test_a_missing_node_file_is_named(check):
    def change(dataflow):
        entry(dataflow, "tracker")["path"] = "nodes/trakker.py"

    assert "no file" in check(change)[0][0]


def test_a_node_that_connects_when_imported_is_not_imported(check, tmp_path):
    (tmp_path / "foreign.py").write_text("from dora import Node\nnode = Node()\nassert False\n")

    def change(dataflow):
        node = {"id": "eye", "path": "foreign.py", "inputs": {"tick": TICK}, "outputs": ["image"]}
        dataflow["nodes"].append(node)
        trace = entry(dataflow, "trace")["inputs"]
        trace["eye_image"] = {"source": "eye/image", "queue_size": 300}

    assert check(change)[0] == []


def test_modules_are_looked_into(check, tmp_path):
    (tmp_path / "hands.yml").write_text(
        "module: {name: hands, inputs: [go], outputs: []}\n"
        f"nodes:\n- {{id: arm, path: {ROOT}/nodes/simulator.py, "
        f"inputs: {{command: _mod/go, tick: {TICK}}}}}\n"
    )

    def change(dataflow):
        dataflow["nodes"].append(
            {"id": "extra", "module": "hands.yml", "inputs": {"go": "policy/command"}}
        )

    problems, file = check(change)
    assert any("'extra.arm' hears policy/command" in p for p in problems)
    assert problems[0].startswith(f"{file}:{line(file, '- id: extra')}: ")


def test_several_operators_in_one_node_are_refused(check, tmp_path):
    (tmp_path / "op.py").write_text("class Operator: pass\n")

    def change(dataflow):
        operators = [
            {"id": name, "python": "op.py", "inputs": {"tick": TICK}, "outputs": []}
            for name in ("one", "two")
        ]
        dataflow["nodes"].append({"id": "pair", "operators": operators})

    assert any("one Python operator per node" in p for p in check(change)[0])


def test_a_class_that_takes_sealed_commands_is_a_driver_wherever_its_file_is(check, tmp_path):
    (tmp_path / "my_arm.py").write_text(
        "from interlock.messages import AdmittedCommand, Command\n"
        "from interlock.nodes._node import Node\n"
        "class Arm(Node):\n"
        "    inputs = {'command': AdmittedCommand, 'direct': Command}\n"
        "NODE = Arm\n"
    )

    def change(dataflow):
        inputs = {"tick": TICK, "command": "gate/command", "direct": "policy/command"}
        dataflow["nodes"].append({"id": "second", "path": "my_arm.py", "inputs": inputs})

    problems, _ = check(change)
    assert any("both drive a robot" in p for p in problems)
    assert any("'second' hears policy/command, past the Gate" in p for p in problems)


def test_a_port_in_use_is_named(check, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (tmp_path / "door.py").write_text(
            "from dataclasses import dataclass\n"
            "from interlock.nodes._node import Node\n"
            "class Door(Node):\n"
            "    @dataclass(frozen=True, kw_only=True)\n"
            "    class Settings:\n"
            "        port: int = 0\n"
            "NODE = Door\n"
        )

        def change(dataflow):
            node = {"id": "door", "path": "door.py", "inputs": {"tick": TICK}}
            dataflow["nodes"].append(node | {"env": {"PORT": port}})

        assert f"port {port} is in use; end the other program, or set PORT" in check(change)[0][0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot read"),
        ("nodes: [\n", "line 2"),
        ("nodes:\n- {id: a, path: b.py, pth: c}\n", "unknown field"),
        ("a: 1\n", "expected nodes:"),
        ("nodes: []\nnodes: []\n", "given twice"),
    ],
)
def test_a_file_that_is_no_dataflow_is_one_clear_line(tmp_path, text, words):
    file = tmp_path / "bad.yml"
    if text is not None:
        file.write_text(text)
    [problem] = check_dataflow(file).problems
    assert words in problem
    assert str(file) in problem


def test_the_command_prints_each_problem_and_exits_with_1(tmp_path):
    file = tmp_path / "bad.yml"
    file.write_text("nodes:\n- {id: a, path: none.py}\n")
    command = [sys.executable, "-m", "interlock.cli.main", "check", "--graph-only", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    assert done.returncode == 1
    assert f"{file}:2: node 'a': no file" in done.stderr
    assert done.stderr.splitlines()[-1] == f"{file}: 3 problems"
