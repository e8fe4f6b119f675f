"""`interlock start FILE`: run a dataflow with the right environment and tidy output."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from interlock.cli.run_events import Told
    from interlock.cli.supervisor import Outcome

#: Exit code of a run that a person ended, as after Ctrl-C in a shell.
STOPPED = 130


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the run.")
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs"), show_default=True)
@click.option("--isolate", multiple=True, metavar="NODE", help="Run NODE in a sandbox (bwrap).")
@click.option(
    "--anyway",
    is_flag=True,
    help="Start despite problems; Gate and driver still refuse a way past the Gate.",
)
def start(file: Path, seed: int, runs: Path, isolate: tuple[str, ...], anyway: bool) -> None:
    """Run the dataflow FILE until its policy is done.

    Exit code 0 when it finished, 1 when something failed, 130 when it was stopped.
    """
    from interlock.cli.dataflow_check import check_dataflow
    from interlock.cli.dora_tool import dora_program
    from interlock.cli.isolate import isolated
    from interlock.cli.run_folder import gl_environment, new_run_folder, run_environment
    from interlock.cli.run_lines import RunLines
    from interlock.cli.supervisor import Supervisor

    report = check_dataflow(file)
    for problem in report.problems:
        click.echo(problem, err=True)
    if report.problems and not (anyway and report.nodes):
        raise SystemExit(1)
    run_dir = new_run_folder(runs, file.stem)
    lines = RunLines(time.time_ns())

    def tell(told: Told) -> None:
        if line := lines.line(told):
            click.echo(line)

    try:
        with isolated(file, report.nodes, isolate, run_dir) as path:
            command = [dora_program(), "run", str(path)]
            environ = run_environment(run_dir, seed) | gl_environment(report.nodes)
            core = [n.id for n in report.nodes if n.role in ("gate", "driver")]
            supervisor = Supervisor(command, environ, run_dir, tell, core)
            click.echo(f"interlock: {file}, {len(report.nodes)} nodes; run {run_dir}")
            outcome = supervisor.run()
    except KeyboardInterrupt:  # before dora was there to stop
        raise SystemExit(STOPPED) from None
    _conclude(outcome, run_dir)


def _conclude(outcome: Outcome, run_dir: Path) -> None:
    summary = {
        "status": outcome.status,
        "reason": outcome.reason,
        "killed": list(outcome.killed),
        "seconds": round(outcome.seconds, 3),
    }
    (run_dir / "outcome.json").write_text(json.dumps(summary) + "\n")
    reason = f": {outcome.reason}" if outcome.reason else ""
    line = f"{outcome.status} after {outcome.seconds:.1f} s{reason}; trace {run_dir / 'trace'}"
    click.echo(f"interlock: {line}", err=outcome.status == "failed")
    if outcome.status != "finished":
        raise SystemExit(STOPPED if outcome.status == "stopped" else 1)
