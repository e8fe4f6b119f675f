"""The benchmark of the simulated robot writes what it promises."""

from __future__ import annotations

import json

from click.testing import CliRunner

from interlock.benchmarks.robots import command


def test_it_prints_a_table_and_writes_rows_with_machine_and_versions(tmp_path):
    target = tmp_path / "robots.json"
    done = CliRunner().invoke(command, ["--repeats", "50", "--json", str(target)])
    assert done.exit_code == 0, done.output
    report = json.loads(target.read_text())
    assert set(report) == {"machine", "versions", "seed", "rows"}
    solved = {row["name"]: row["solved"] for row in report["rows"] if "solved" in row}
    assert solved["inverse, tool down over the table, from home"] == 1.0
    assert all(row["p50_ms"] > 0 for row in report["rows"])
