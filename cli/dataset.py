"""`interlock dataset`: check, repair, describe and push recorded LeRobot datasets."""

from __future__ import annotations

import json
from pathlib import Path

import click

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group()
def dataset() -> None:
    """Check, repair, describe or push a LeRobot v3 dataset."""


@dataset.command()
@click.argument("folder", type=_FOLDER)
def check(folder: Path) -> None:
    """Check every file of FOLDER; each problem is one line, exit code 1."""
    from interlock.operators.lerobot_dataset import problems_of, summary_of

    problems = problems_of(folder)
    for problem in problems:
        click.echo(problem, err=True)
    if problems:
        click.echo(f"{len(problems)} problems; try `interlock dataset repair {folder}`", err=True)
        raise SystemExit(1)
    found = summary_of(folder)
    click.echo(f"{folder}: sound, {found['episodes']} episodes, {found['frames']} frames")


@dataset.command()
@click.argument("folder", type=_FOLDER)
def repair(folder: Path) -> None:
    """Make FOLDER agree with the episodes that are whole; an unfinished one is removed."""
    from interlock.operators.lerobot_dataset import repair as mend

    mended = mend(folder)
    for line in mended or ["nothing to mend"]:
        click.echo(line)


@dataset.command()
@click.argument("folder", type=_FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(folder: Path, as_json: bool) -> None:
    """Say what FOLDER holds."""
    from interlock.operators.lerobot_dataset import summary_of

    found = summary_of(folder)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    click.echo(f"{found['robot_type'] or 'robot'} at {found['fps']} Hz")
    click.echo(f"{found['episodes']} episodes, {found['frames']} frames, {found['bytes']:,} bytes")
    click.echo(f"{found['successes']} of {found['graded']} graded episodes succeeded")
    click.echo(f"{found['drops']} observations missed, {found['duplicates']} came twice")
    for camera in found["cameras"]:
        click.echo(f"camera {camera}")
    for number, task in enumerate(found["tasks"]):
        click.echo(f"task {number}: {task}")


@dataset.command()
@click.argument("folder", type=_FOLDER)
@click.argument("repository", required=False)
def push(folder: Path, repository: str | None) -> None:
    """Push FOLDER to REPOSITORY of the hub; HF_REPO and HF_PRIVATE are the defaults."""
    import os

    from interlock.operators.lerobot_dataset import Destination
    from interlock.operators.lerobot_dataset import push as send

    destination = Destination.from_environment(os.environ)
    name = repository or destination.repository
    if name is None:
        raise click.UsageError("name a REPOSITORY, or set HF_REPO")
    click.echo(send(folder, name, private=destination.private))
