"""A recorded run judged again, from a real lockstep run of the default dataflow."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from interlock.cli.rejudge import RejudgeError, rejudge
from interlock.nodes._lockstep import Lockstep

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    dataflow = yaml.safe_load((ROOT / "dataflow.yml").read_text())
    run = Lockstep(dataflow, dataflow_dir=ROOT, run_dir=folder, seed=3)
    run.start()
    run.run_until(1_800_000_000)
    run.stop()
    return folder


def test_the_same_configuration_gives_bit_identical_verdicts(run_dir):
    answer = CliRunner().invoke(rejudge, [str(run_dir)])
    assert answer.exit_code == 0, answer.output
    first, second = answer.output.splitlines()[:2]
    commands = int(first.split()[0])
    assert commands > 3
    assert second == f"bit-identical verdicts: {commands} of {commands}"


def test_another_configuration_says_what_it_would_have_refused(run_dir, tmp_path):
    strict = (
        (ROOT / "configs/gate/default.yml").read_text().replace("limit_mps: 1.5", "limit_mps: 0.2")
    )
    file = tmp_path / "strict.yml"
    file.write_text(strict)
    out = tmp_path / "changes.json"
    answer = CliRunner().invoke(rejudge, [str(run_dir), "--gate", str(file), "--json", str(out)])
    assert answer.exit_code == 0, answer.output
    changes = json.loads(out.read_text())
    assert any("tool_speed" in change["after"] for change in changes)
    assert all(change["before"].startswith("admitted") for change in changes)


def test_a_trace_without_a_gate_is_named(tmp_path):
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "meta.json").write_text("{}")
    with pytest.raises(RejudgeError, match="has no Gate"):
        CliRunner().invoke(rejudge, [str(tmp_path)], catch_exceptions=False)
