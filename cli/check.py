"""`interlock check FILE`: is a dataflow sound, and is this machine ready for it?"""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--graph-only", is_flag=True, help="Leave out Python, versions and ports.")
def check(file: Path, graph_only: bool) -> None:
    """Check the dataflow FILE without starting it; each problem is one line, exit code 1."""
    from interlock.cli.dataflow_check import check_dataflow
    from interlock.cli.environment import python_problems, version_problems

    report = check_dataflow(file)
    problems = list(report.problems)
    if not graph_only:
        problems += [*python_problems(), *version_problems()]
    for problem in problems:
        click.echo(problem, err=True)
    if problems:
        count = len(problems)
        click.echo(f"{file}: {count} problem{'s' if count > 1 else ''}", err=True)
        raise SystemExit(1)
    edges = sum(len(n.inputs) for n in report.nodes)
    click.echo(f"{file}: sound, {len(report.nodes)} nodes, {edges} edges")
