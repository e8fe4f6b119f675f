"""`interlock trace` on a planted run: what happened, why it failed, and for other tools."""

import base64
import json

import pytest
from click.testing import CliRunner

from interlock.cli.trace import trace
from interlock.messages import Command, Event, Grant, Result, TaskRequest, Verdict
from interlock.operators.trace import TraceError


@pytest.fixture
def run(plant, make):
    """A grasp whose second command is refused."""
    request = TaskRequest(request="p-1", owner="policy", name="grasp cup_red")
    plant.send("policy/request", request, at_ms=0)
    grant = Grant(request="p-1", owner="policy", task="t1", state="granted")
    plant.send("gate/grant", grant, at_ms=1)
    for i, codes in enumerate([(), ("workspace",)]):
        seen = plant.send("sim/state", make.state(), at_ms=10 + 10 * i)
        sent = plant.send("policy/command", Command(task="t1", space="hold"), at_ms=15 + 10 * i,
                          basis=[seen])  # fmt: skip
        verdict = Verdict(task="t1", source="policy", seq=i, admitted=not codes, codes=codes,
                          sentence="z is [0.01] m, limit 0.02 m" if codes else "")  # fmt: skip
        plant.send("gate/verdict", verdict, at_ms=16 + 10 * i, basis=[sent])
    plant.send("camera/image", make.picture(), at_ms=27)
    plant.send("policy/event", Event(kind="task", text="grasp: failed after 0.03 s: no"), at_ms=30)
    result = Result(goal="policy/1", status="failed", code="refused", reason="no")
    plant.send("policy/result", result, at_ms=30)
    plant.trace()
    return plant.folder


def invoke(*words):
    return CliRunner().invoke(trace, [str(w) for w in words])


def test_show_lists_tasks_commands_and_verdicts(run):
    lines = invoke("show", run).output.splitlines()
    assert any("policy/1" in x and "grasp" in x and "refused: no" in x for x in lines)
    [admitted] = [x for x in lines if "policy #0" in x]
    assert "grasp cup_red" in admitted
    assert admitted.rstrip().endswith("admitted")
    [refused] = [x for x in lines if "policy #1" in x]
    assert "workspace: z is [0.01] m, limit 0.02 m" in refused


def test_failed_shows_only_what_failed(run):
    output = invoke("show", run, "--failed").output
    assert "policy #1" in output
    assert "policy #0" not in output


def test_task_chooses_by_name_or_token(run):
    assert "policy #0" in invoke("show", run, "--task", "grasp cup_red").output
    assert "policy #0" in invoke("show", run, "--task", "t1").output
    assert "policy #0" not in invoke("show", run, "--task", "t2").output


def test_a_limit_says_how_much_it_hides(run):
    assert "(1 earlier commands; --limit 0 shows all)" in invoke("show", run, "--limit", 1).output


def test_json_holds_everything(run):
    data = json.loads(invoke("show", run, "--json").output)
    assert [c["verdict"] for c in data["commands"]] == ["admitted", "refused"]
    assert data["commands"][0]["age_ms"] == 5.0
    assert data["tasks"][0]["code"] == "refused"


def test_a_trace_without_a_summary_says_so_and_counts_its_gaps(run, plant):
    again = type(plant)(run)
    again.lose("policy/command", 5)
    again.send("policy/command", Command(task="t1", space="hold"), at_ms=40)
    again.trace()
    output = invoke("show", run).output
    assert "no summary" in output
    assert "lost: 3 of policy/command" in output


def test_why_names_cause_value_and_limit(run):
    output = invoke("why", run).output
    assert output.startswith("cause: refused by the Gate\n")
    assert "limit 0.02 m" in output
    assert "sim/state #1" in output


def test_why_as_json_has_the_cause_and_the_chain(run):
    data = json.loads(invoke("why", "--runs", run.parent, "--json").output)
    assert data["cause"] == "refusal"
    assert data["basis"] == ["policy/command #1", "sim/state #1"]


def test_mcap_holds_every_message_and_a_picture_foxglove_reads(run, tmp_path):
    reader = pytest.importorskip("mcap.reader", reason="needs interlock[export]")
    file = tmp_path / "run.mcap"
    assert "11 messages" in invoke("export", run, "--mcap", file).output
    with file.open("rb") as stream:
        found = list(reader.make_reader(stream).iter_messages())
    assert len(found) == 11
    [picture] = [json.loads(m.data) for schema, _, m in found if schema.name == "foxglove.RawImage"]
    assert len(base64.b64decode(picture["data"])) == picture["step"] * picture["height"]


def test_rerun_is_written_or_named_as_missing(run, tmp_path):
    result = invoke("export", run, "--rerun", tmp_path / "run.rrd")
    if result.exit_code:
        assert "pip install" in str(result.exception)
    else:
        assert (tmp_path / "run.rrd").stat().st_size > 1000


def test_export_to_a_folder_that_is_not_there_is_one_line(run, tmp_path):
    pytest.importorskip("mcap", reason="needs interlock[export]")
    result = invoke("export", run, "--mcap", tmp_path / "none" / "x.mcap")
    assert isinstance(result.exception, TraceError)
    assert "Choose another file" in str(result.exception)


def test_export_without_a_file_is_a_usage_error(run):
    assert invoke("export", run).exit_code == 2


def test_the_digest_is_printed(run):
    assert len(invoke("digest", run).output.strip()) == 64
