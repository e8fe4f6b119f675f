"""`interlock profile` on a planted run: table, JSON, page, budgets, exit codes."""

import json

import pytest
from click.testing import CliRunner

from interlock.cli.profile import profile
from interlock.messages import Command, Event
from interlock.operators.trace import TraceError


@pytest.fixture
def run(plant, make):
    for i in range(20):
        seen = plant.send("sim/state", make.state(), at_ms=10 * i)
        plant.send(
            "policy/command", Command(task="t", space="hold"), at_ms=10 * i + 4, basis=[seen]
        )
    plant.trace()
    return plant.folder


def test_the_table_names_every_edge_and_its_figures(run):
    result = CliRunner().invoke(profile, [str(run)])
    assert result.exit_code == 0
    [line] = [x for x in result.output.splitlines() if x.startswith("sim/state -> policy")]
    assert line.split()[3:6] == ["20", "100.0", "0.50"]


def test_a_broken_budget_is_exit_code_1_and_a_line(run, tmp_path):
    (tmp_path / "budgets.yml").write_text("budgets:\n  sim/state -> policy: {max_age_ms: 3}\n")
    result = CliRunner().invoke(profile, [str(run), "--budgets", str(tmp_path / "budgets.yml")])
    assert result.exit_code == 1
    assert "largest age at a decision 4 ms, budget 3 ms" in result.output


def test_json_and_page_are_written(run, tmp_path):
    files = [tmp_path / "p.json", tmp_path / "p.html"]
    result = CliRunner().invoke(
        profile, [str(run), "--json", str(files[0]), "--html", str(files[1])]
    )
    assert result.exit_code == 0
    data = json.loads(files[0].read_text())
    assert [e["consumer"] for e in data["edges"]] == ["policy", "trace", "trace"]
    assert "<svg" in files[1].read_text()


def test_live_follows_for_as_long_as_told(run):
    result = CliRunner().invoke(profile, [str(run), "--live", "--seconds", "0"])
    assert result.exit_code == 0
    assert "sim/state -> policy" in result.output


def test_the_newest_run_is_the_default(run):
    result = CliRunner().invoke(profile, ["--runs", str(run.parent)])
    assert "sim/state -> policy" in result.output


def test_no_run_at_all_is_one_line(tmp_path):
    result = CliRunner().invoke(profile, ["--runs", str(tmp_path)])
    assert isinstance(result.exception, TraceError)
    assert "Run a dataflow first" in str(result.exception)


@pytest.mark.parametrize("options", [[], ["--live", "--seconds", "0"]])
def test_inferences_of_a_served_policy_have_a_table_of_their_own(plant, options):
    folder = plant.folder.parent / "served"
    served = type(plant)(folder)
    data = json.dumps({"roundtrip_ms": 90.0, "age_ms": 150.0})
    served.send("policy/event", Event(kind="inference", text="", data=data), at_ms=1)
    served.trace()
    result = CliRunner().invoke(profile, [str(folder), *options])
    assert "policy: age at execution" in result.output
