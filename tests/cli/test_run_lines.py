import json

from interlock.cli.dora_tool import complaint
from interlock.cli.run_events import EventFiles
from interlock.cli.run_lines import REPEATS, RunLines


def write(folder, node, *lines):
    folder.mkdir(exist_ok=True)
    with (folder / f"{node}.jsonl").open("a") as file:
        for t_ns, message, fields in lines:
            line = {"t_ns": t_ns, "node": node, "message": message, **fields}
            file.write(json.dumps(line) + "\n")


def event(kind, text, t_ns=1):
    return t_ns, "Event", {"kind": kind, "text": text}


def shown(files):
    lines = RunLines(0)
    return [line for told in files.new() if (line := lines.line(told))]


def test_events_of_all_nodes_are_read_once_in_order_of_time(tmp_path):
    files = EventFiles(tmp_path / "events")
    write(files.folder, "a", event("task", "second", 2))
    write(files.folder, "b", event("task", "first", 1))
    assert [t.fields["text"] for t in files.new()] == ["first", "second"]
    assert files.new() == []


def test_half_a_line_is_read_when_it_is_whole(tmp_path):
    files = EventFiles(tmp_path)
    text = json.dumps({"t_ns": 1, "node": "a", "message": "Event", "kind": "task", "text": "x"})
    (tmp_path / "a.jsonl").write_text(text[:20])
    assert files.new() == []
    (tmp_path / "a.jsonl").write_text(text + "\n")
    assert [t.line for t in files.new()] == ["x"]


def test_what_is_no_event_line_is_left_out(tmp_path):
    (tmp_path / "a.jsonl").write_text('nonsense\n[]\n{"node": 1}\n\xff\n', encoding="latin-1")
    assert EventFiles(tmp_path).new() == []


def test_a_warning_that_differs_only_in_its_numbers_is_shown_three_times(tmp_path):
    files = EventFiles(tmp_path)
    write(tmp_path, "gate", *(event("warning", f"state is {n} ms old", n) for n in range(9)))
    found = shown(files)
    assert len(found) == REPEATS
    assert found[-1].endswith("state is 2 ms old (more of these are in the trace only)")


def test_a_task_has_one_line_though_its_node_also_sends_a_result(tmp_path):
    files = EventFiles(tmp_path)
    result = {"goal": "policy/1", "status": "succeeded"}
    write(tmp_path, "policy", (1, "Result", result), event("task", "grasp: succeeded", 2))
    [line] = shown(files)
    assert line.endswith("grasp: succeeded")


def test_a_failed_node_has_a_line_and_is_known_as_ended(tmp_path):
    files = EventFiles(tmp_path)
    write(tmp_path, "camera", (5, "Ended", {"status": "failed", "reason": "no lens"}))
    assert "camera" in shown(files)[0]
    assert "failed: no lens" in shown_again(files)


def shown_again(files):
    return files.ended["camera"].line


def test_the_innermost_cause_of_a_dora_report_is_one_line():
    report = (
        "\n\n[ERROR]\nfailed to read dataflow at `x.yml`\n\n  hint: check it\n\nCaused by:\n"
        "   0: failed to parse given descriptor\n   1: nodes[0]: unknown field `pth`\n\n"
        "Location:\n    a.rs:1\n"
    )
    assert complaint(report) == "nodes[0]: unknown field `pth`"
    assert complaint("\n[ERROR]\nwiring check failed\n") == "wiring check failed"
    assert complaint("") == "no reason given"
