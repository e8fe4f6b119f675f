"""`interlock tasks`: list, show, make and check tasks."""

from __future__ import annotations

import sys
from pathlib import Path

import click

ROOT = click.option("--tasks", "root", type=click.Path(path_type=Path), help="Folder of suites.")


@click.group("tasks")
def tasks() -> None:
    """List, show, make and check tasks."""


@tasks.command("list")
@ROOT
def list_tasks(root: Path | None) -> None:
    """Print one task a line: its id, then its suite."""
    from interlock.trials.library import all_ids, task_files

    files = task_files(root)
    for task_id in all_ids(root):
        suite = files[task_id].parent.name if task_id in files else "generated"
        click.echo(f"{task_id}  {suite}")


@tasks.command("show")
@click.argument("task")
@click.option("--seed", type=click.IntRange(0), default=0)
@ROOT
def show(task: str, seed: int, root: Path | None) -> None:
    """Print what an agent is told, and the budget."""
    from interlock.trials.library import load
    from interlock.trials.task import instantiate

    loaded = load(task, root)
    click.echo(f"{loaded.id}: {loaded.title}")
    click.echo(f"suite {loaded.suite}, world {loaded.world}, judged {loaded.judge}")
    click.echo(f"{loaded.max_steps} control steps, {loaded.timeout_s:g} s\n")
    click.echo(instantiate(loaded, seed=seed).prompt)


TEMPLATE = """\
---
title: {id}
world: cubepick
max_steps: 200
skills: [pick, place]
scenario:
  objects:
    cube: {{position_m: [0.2, 0.1, 0.02], colour: red}}
  zones:
    pad: {{centre_m: [-0.2, 0.0, 0.0]}}
  jitter_m: 0.05
success:
  - inside: {{object: cube, zone: pad}}
solution:
  - skill pick cube
  - skill place pad
  - done
---
Put the red cube onto the pad.
"""


@tasks.command("init")
@click.argument("path", type=click.Path(path_type=Path))
def init(path: Path) -> None:
    """Write a small working task to PATH (SUITE/NAME.md)."""
    if path.suffix != ".md":
        raise click.UsageError(f"a task is a file ending in .md, got {path}")
    if path.exists():
        raise click.UsageError(f"{path} is there already; choose another name")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TEMPLATE.format(id=path.stem), encoding="utf-8")
    click.echo(f"{path}\nnext: interlock tasks check {path}")


@tasks.command("check")
@click.argument("names", nargs=-1)
@click.option("--seeds", default="0-2", show_default=True, help="Such as 0-2 or 0,5.")
@click.option("--suite", help="Only this suite.")
@ROOT
def check(names: tuple[str, ...], seeds: str, suite: str | None, root: Path | None) -> None:
    """Check that the reference solution scores 1 and doing nothing scores 0."""
    from interlock.trials.check import check_task
    from interlock.trials.library import task_files
    from interlock.trials.seeds import parse_seeds

    files = task_files(root)
    chosen = list(names) or [i for i, f in files.items() if suite in (None, f.parent.name)]
    bad = 0
    for name in chosen:
        problems = check_task(name, parse_seeds(seeds), root=root)
        bad += bool(problems)
        click.echo(f"{'FAIL' if problems else 'ok  '} {name} {'; '.join(problems)}".rstrip())
    click.echo(f"{len(chosen) - bad} of {len(chosen)} tasks are sound", err=True)
    sys.exit(1 if bad or not chosen else 0)
