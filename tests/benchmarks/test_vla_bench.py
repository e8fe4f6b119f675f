"""`interlock bench vla`: every row is there, and what can't be measured says why."""

import json
import sys

from click.testing import CliRunner

from interlock.benchmarks.report import percentiles, table
from interlock.benchmarks.vla import command
from interlock.benchmarks.vla_pure import fuzz_rows, seam_row


def test_the_report_has_floor_ours_and_a_stock_row_with_its_reason(tmp_path):
    file = tmp_path / "vla.json"
    options = ["--n", "20", "--fuzz", "20", "--seconds", "0.2", "--stock-python", sys.executable]
    done = CliRunner().invoke(command, [*options, "--json", str(file)], catch_exceptions=False)
    report = json.loads(file.read_text())
    assert done.exit_code == 0
    assert sorted(report) == ["machine", "rows", "seed", "versions"]
    rows = {row["name"]: row for row in report["rows"]}
    assert {"p50_ms", "p99_ms", "per_s"} <= rows["floor"].keys()
    assert rows["ours (openpi wire)"]["n"] == 20
    assert "openpi_client" in rows["stock openpi"]["reason"]


def test_a_minute_of_seams_keeps_the_speed_limit_and_leaves_no_tick_empty():
    row = seam_row(0, seconds=60)
    assert row["ticks_without"] == 0
    assert row["largest_step"] <= row["step_limit"]


def test_broken_replies_are_refused_and_never_crash():
    rows = fuzz_rows(300, seed=1)
    assert len(rows) == 4
    assert all(row["refused"] > 0 for row in rows)


def test_a_table_is_aligned_and_leaves_blanks_for_what_a_row_lacks():
    lines = table([percentiles("a", [0.001, 0.002]), {"name": "long name", "reason": "none"}])
    assert lines[0].startswith("name     ")
    assert lines[2].startswith("long name")
    assert lines[2].endswith("none")
