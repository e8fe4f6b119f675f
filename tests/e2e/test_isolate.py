"""A policy in the sandbox of `interlock start --isolate` sees neither key nor processes."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

pytestmark = [
    pytest.mark.dora,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]
ROOT = Path(__file__).parents[2]

PRY = """
import json, os
from pathlib import Path

from interlock.gate.keyfile import key_folder


def attempt(what):
    try:
        return what()
    except OSError as error:
        return type(error).__name__


def others():
    return [p.name for p in Path("/proc").iterdir() if p.name.isdigit() and _is_node(p)]


def _is_node(entry):
    words = (entry / "cmdline").read_bytes()
    return b"gate.py" in words or b"simulator.py" in words


async def main():
    found = {
        "keys": attempt(lambda: [p.name for p in key_folder().iterdir()]),
        "processes": attempt(others),
        "write": attempt(lambda: Path(HERE).write_text("x")),
        "trace": attempt(lambda: Path(os.environ["INTERLOCK_RUN_DIR"], "trace/x").write_text("x")),
        "kill": attempt(lambda: os.kill(1, 0) or os.getpid() < 50),
    }
    print("PRYING " + json.dumps(found) + " END", flush=True)
"""


@pytest.fixture
def dataflow(tmp_path):
    (tmp_path / "pry.py").write_text(PRY.replace("HERE", repr(str(tmp_path / "mine.txt"))))
    text = yaml.safe_load((ROOT / "configs/dataflows/noop.yml").read_text())
    for node in text["nodes"]:
        node["path"] = str((ROOT / "configs/dataflows" / node["path"]).resolve())
        if node["id"] == "policy":
            node["env"] = {"POLICY": "program", "PROGRAM": str(tmp_path / "pry.py")}
    file = tmp_path / "pry.yml"
    file.write_text(yaml.safe_dump(text))
    return file


def found(run):
    log = (run.run_dir / "dora.log").read_text()
    return json.loads(re.search(r"PRYING (\{.*?\}) END", log).group(1))


def test_an_isolated_policy_sees_no_key_no_process_and_writes_nothing(start, dataflow, tmp_path):
    run = start(dataflow, "--isolate", "policy")
    assert run.end(within_s=60) == 0, run.output + run.log()
    pried = found(run)
    assert pried["keys"] == []
    assert pried["processes"] == []
    assert pried["write"] == "OSError"  # read-only file system
    assert pried["trace"] == "OSError"
    assert not (tmp_path / "mine.txt").exists()
    assert list(tmp_path.glob(".*.isolated.yml")) == []
    assert run.left_behind() == []


def test_without_the_sandbox_the_same_program_sees_the_key(start, dataflow):
    run = start(dataflow)
    assert run.end(within_s=60) == 0, run.output + run.log()
    pried = found(run)
    assert pried["keys"]  # so the test above shows something
    assert pried["processes"]


def test_the_default_policy_works_in_the_sandbox(start):
    run = start(ROOT / "dataflow.yml", "--isolate", "policy")
    assert run.end(within_s=90) == 0, run.output + run.log()
    assert "scripted: succeeded" in run.output


def test_what_holds_the_key_cannot_be_isolated(start):
    run = start(ROOT / "dataflow.yml", "--isolate", "gate")
    assert run.end() == 1
    assert "--isolate gate: it needs the key" in run.output
