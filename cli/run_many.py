"""`interlock run-many`: a set of trials, in parallel, resumable after anything."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from interlock.cli.run import parse_video

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlock.trials.pool import Pool


@click.command("run-many")
@click.option("--task", "names", multiple=True, help="A task id; may be given several times.")
@click.option("--task-list", type=click.Path(path_type=Path), help="File with a task id a line.")
@click.option("--suite", multiple=True, help="Every task of a suite.")
@click.option("--include", multiple=True, help="Only ids that match this glob.")
@click.option("--exclude", multiple=True, help="No ids that match this glob.")
@click.option("--sample", type=int, help="Draw so many of them.")
@click.option("--sample-seed", type=int, default=0)
@click.option("--limit", type=int, help="Only the first so many.")
@click.option("--seeds", default="0", show_default=True, help="Such as 0-4 or 1,5,9.")
@click.option("--epochs", type=click.IntRange(1, 1000), default=1, show_default=True)
@click.option("--harness", required=True)
@click.option("--model", default="")
@click.option("--out", type=click.Path(path_type=Path), required=True)
@click.option("--concurrency", type=click.IntRange(1, 256), default=1, show_default=True)
@click.option("--retries", type=click.IntRange(0, 20), default=2, show_default=True)
@click.option("--timeout", "timeout_s", type=float)
@click.option("--extra-instruction", default="")
@click.option("--interface", type=click.Choice(["cli", "mcp", "both"]), default="cli")
@click.option("--policy-config", type=click.Path(path_type=Path))
@click.option("--video", default="off")
@click.option("--spend-cap")
@click.option("--allow-host", "allow_hosts", multiple=True, help="Host an agent may reach.")
@click.option("--tasks", "root", type=click.Path(path_type=Path))
@click.option("--resume", is_flag=True, help="Go on with what is missing in --out.")
@click.option("--dry-run", is_flag=True, help="Print the trials and stop.")
def run_many(**options: Any) -> None:
    """Run many trials; infrastructure failures are tried again, results never."""
    from interlock.trials import sweep
    from interlock.trials.pool import Pool

    out = options["out"]
    jobs = plan_jobs(options)
    if options["dry_run"]:
        for job in jobs:
            click.echo(job.plan.key)
        return
    plans = [job.plan for job in jobs]
    sweep.begin(out, plans, resume=options["resume"])
    done = sweep.finished(out, plans)
    todo = [job for job in jobs if job.plan.key not in done]
    if not todo:
        click.echo(f"nothing to do: {sweep.headline(list(done.values()), len(jobs))}, in {out}")
        return
    if done:
        click.echo(f"resuming: {len(done)} of {len(jobs)} trials are there already")
    for job in todo:
        sweep.keep_failed(out, job.plan, 0)
    results = list(done.values())
    pool = Pool(
        todo,
        out=out,
        workers=options["concurrency"],
        retries=options["retries"],
        report=_reporter(out, results, len(jobs), len(done)),
    )
    _run_pool(pool, lambda: f"{sweep.headline(results, len(jobs))}, in {out}")
    click.echo(f"{sweep.headline(results, len(jobs))}, in {out}")
    click.echo(f"next: interlock report {out}", err=True)
    sys.exit(0 if len(sweep.finished(out, plans)) == len(jobs) else 1)


def _run_pool(pool: Pool, headline: Callable[[], str]) -> None:
    """Run the trials; end the command when they are interrupted or stopped by an operator."""
    from interlock.nodes._stop_door import StopDoor

    door = StopDoor(
        f"trials-{os.getpid()}", pool.stop, lambda: "stopped" if pool.stopped else "runs"
    )
    try:
        pool.run()
    except KeyboardInterrupt:
        click.echo(f"stopped; go on with --resume. {headline()}")
        sys.exit(130)
    finally:
        door.close()
    if pool.stopped:
        click.echo(f"stopped {pool.stopped}; start anew, or go on with --resume: {headline()}")
        sys.exit(1)


def plan_jobs(options: dict[str, Any]) -> list[Any]:
    """Return one job per task, seed and epoch."""
    from interlock.trials.planning import plan_from
    from interlock.trials.pool import Job
    from interlock.trials.seeds import parse_seeds

    video = parse_video(options["video"])
    names = ("harness", "model", "timeout_s", "interface", "allow_hosts")
    shared = {key: options[key] for key in names}
    shared |= {
        "extra_instruction": options["extra_instruction"],
        "out": str(options["out"]),
        "root": str(options["root"]) if options["root"] else None,
        "policy_config": str(options["policy_config"]) if options["policy_config"] else None,
        "video": {"width": video.width, "height": video.height, "fps": video.fps}
        if video
        else None,
        "options": {"spend_cap": options["spend_cap"]} if options["spend_cap"] else {},
    }
    jobs = []
    for task in chosen_tasks(options):
        for seed in parse_seeds(options["seeds"]):
            for epoch in range(options["epochs"]):
                one = {**shared, "task": task, "seed": seed, "epoch": epoch}
                jobs.append(Job(plan_from(one), one))
    return jobs


def chosen_tasks(options: dict[str, Any]) -> list[str]:
    """Return the task ids that the options choose."""
    from interlock.trials.library import all_ids, task_files
    from interlock.trials.sweep import choose

    names = list(options["names"])
    if options["task_list"]:
        names += options["task_list"].read_text(encoding="utf-8").split()
    if options["suite"]:
        files = task_files(options["root"])
        names += [i for i, file in files.items() if file.parent.name in options["suite"]]
    return choose(
        names or all_ids(options["root"]),
        include=options["include"],
        exclude=options["exclude"],
        sample=options["sample"],
        sample_seed=options["sample_seed"],
        limit=options["limit"],
    )


def _reporter(
    out: Path, results: list[dict[str, Any]], total: int, before: int
) -> Callable[[Any, dict[str, Any]], None]:
    """Return what prints one line per finished trial, with the time that is left."""
    started = time.monotonic()
    log = out / "sweep_log.jsonl"

    def report(job: Any, summary: dict[str, Any]) -> None:
        results.append(summary)
        count = len(results)
        pace = (time.monotonic() - started) / max(1, count - before)
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": job.plan.key, **summary}) + "\n")
        click.echo(_line(job.plan.key, summary, count, total, pace * (total - count)))

    return report


def _line(key: str, summary: dict[str, Any], count: int, total: int, eta_s: float) -> str:
    head = f"[{count}/{total}] {key}"
    exception = summary.get("exception")
    if exception:
        return f"{head} not scored: {exception['type']}: {exception['message'][:160]}"
    return (
        f"{head} reward {summary['reward']:g} {summary['outcome']} {summary['steps']} steps "
        f"{summary['wall_s']:.1f} s, eta {eta_s:.0f} s"
    )
