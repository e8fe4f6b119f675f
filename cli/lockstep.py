"""`interlock lockstep FILE`: run a dataflow in one process on simulated time."""

from __future__ import annotations

import time
from pathlib import Path

import click

#: Simulated time between two looks at whether the run is over, in ns.
SLICE_NS = 100_000_000


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the run.")
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs"), show_default=True)
@click.option("--limit-s", type=float, default=120.0, show_default=True, help="Simulated time.")
def lockstep(file: Path, seed: int, runs: Path, limit_s: float) -> None:
    """Run the dataflow FILE on simulated time; the same seed gives bit-identical traces.

    The last line is the SHA-256 of the trace. Exit code 1 when a node failed or the policy was not
    done within the simulated time.
    """
    from interlock.cli.dora_tool import DoraError, expand
    from interlock.cli.run_folder import new_run_folder
    from interlock.nodes._lockstep import Lockstep
    from interlock.operators.dataflow_file import read_dataflow_file
    from interlock.operators.trace.digest import digest

    if not 0 < limit_s <= 86_400:
        raise DoraError(f"--limit-s {limit_s}: expected more than 0 and at most 86400 s")
    found = read_dataflow_file(file)
    dataflow = expand(file) if found.has_modules else found.data
    run_dir = new_run_folder(runs, f"{file.stem}-lockstep")
    click.echo(f"interlock: {file}, {len(dataflow['nodes'])} nodes in lockstep; run {run_dir}")
    run = Lockstep(dataflow, dataflow_dir=file.resolve().parent, run_dir=run_dir, seed=seed)
    began = time.monotonic()
    try:
        run.start()
        while not run.done and run.now_ns < limit_s * 1e9:
            run.run_until(run.now_ns + SLICE_NS)
    finally:
        over = run.done
        run.stop()
    took_s = time.monotonic() - began
    _tell_tasks(run_dir)
    simulated = f"{run.now_ns / 1e9:.2f} s simulated in {took_s:.2f} s"
    click.echo(f"interlock: {simulated}; trace {run_dir / 'trace'}")
    failures = list(run.failures)
    if not over:
        failures.append(f"the policy was not done within {limit_s:g} s of simulated time")
    for failure in failures:
        click.echo(f"interlock: failed: {failure}", err=True)
    click.echo(digest(run_dir))
    if failures:
        raise SystemExit(1)


def _tell_tasks(run_dir: Path) -> None:
    """Print a line per task, from the trace."""
    from interlock.messages import Event
    from interlock.operators.trace import Trace

    for received in Trace(run_dir).messages():
        message = received.message
        if isinstance(message, Event) and message.kind in ("task", "error"):
            when = received.stamp.sent_ns / 1e9
            click.echo(f"{when:7.2f} s  {received.stamp.source:<10} {message.text}")
