"""`interlock run`: one trial; the JSON summary on stdout is all that scripts need."""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Any

import click

from interlock.messages.errors import InterlockError

SUMMARY = ("trial", "reward", "outcome", "steps", "wall_s", "exception", "folder")


@click.command("run")
@click.option("--task", required=True, help="Task id or file; see `interlock tasks list`.")
@click.option("--harness", required=True, help="oracle, noop, scripted, program, claude-code, ...")
@click.option("--model", default="", help="provider/model, e.g. anthropic/claude-sonnet-5.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@click.option("--epoch", type=click.IntRange(0), default=0, help="Repetition of the same seed.")
@click.option("--attempt", type=click.IntRange(0), default=0, hidden=True)
@click.option("--timeout", "timeout_s", type=float, help="Seconds the agent has.")
@click.option("--extra-instruction", default="", help="Text added to the prompt.")
@click.option(
    "--prior-learnings", type=click.Path(path_type=Path), help="File added to the prompt."
)
@click.option("--interface", type=click.Choice(["cli", "mcp", "both"]), default="cli")
@click.option("--policy-config", type=click.Path(path_type=Path), help="Script, program or preset.")
@click.option("--video", default="off", help="off, on, WIDTHxHEIGHT, or WIDTHxHEIGHT@FPS.")
@click.option("--spend-cap", help="Most USD the agent may spend; 0 for no cap.")
@click.option("--allow-host", "allow_hosts", multiple=True, help="Host an agent may reach.")
@click.option("--tasks", "root", type=click.Path(path_type=Path), help="Other folder of suites.")
def run(**options: Any) -> None:
    """Give a task to an agent or policy, and judge what physically happened."""
    summary, code = run_to_summary(options)
    click.echo(json.dumps(summary))
    if sys.stderr.isatty() and summary["folder"]:
        folder = summary["folder"]
        click.echo(f"next: interlock summarize {folder}", err=True)
        click.echo(f"      interlock report {Path(folder).parent}", err=True)
        click.echo(f"      less {folder}/requests.jsonl", err=True)
    sys.exit(code)


def run_to_summary(options: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Run a trial; return its summary and the exit code."""
    from interlock.trials.errors import TaskError
    from interlock.trials.runner import run_trial

    summary: dict[str, Any] = dict.fromkeys(SUMMARY)
    try:
        plan = make_plan(options)
        result = run_trial(plan)
    except (TaskError, click.ClickException):
        raise
    except KeyboardInterrupt:
        folder = plan.out / plan.name()
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        return _summary(result, folder), 130
    except InterlockError as error:
        summary["exception"] = {"type": type(error).__name__, "message": str(error)}
        return summary, 1
    except Exception as error:
        # A broken world is no usage error: scripts get their summary, people the traceback.
        traceback.print_exc()
        summary["exception"] = {"type": type(error).__name__, "message": str(error)}
        return summary, 1
    return _summary(result, plan.out / plan.name()), 0 if result["exception"] is None else 1


def make_plan(options: dict[str, Any]) -> Any:
    """Return the plan that the options of `run` describe."""
    from dataclasses import asdict

    from interlock.trials.planning import plan_from

    learnings = options["prior_learnings"]
    video = parse_video(options["video"])
    changed = {
        "prior_learnings": _text(learnings) if learnings else "",
        "video": asdict(video) if video else None,
        "options": {"spend_cap": options["spend_cap"]} if options["spend_cap"] else {},
    }
    return plan_from({**options, **changed})


def parse_video(text: str) -> Any:
    """Return video options, or None for ``off``."""
    from interlock.trials.plan import VideoOptions

    if text == "off":
        return None
    if text == "on":
        return VideoOptions()
    size, _, rate = text.partition("@")
    width, _, height = size.partition("x")
    try:
        return VideoOptions(width=int(width), height=int(height), fps=int(rate or 10))
    except ValueError as error:
        raise click.UsageError(f"--video {text!r}: {error}") from error


def _text(path: Path) -> str:
    from interlock.trials.errors import PreflightError

    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PreflightError(f"cannot read --prior-learnings: {error}") from error


def _summary(result: dict[str, Any], folder: Path) -> dict[str, Any]:
    return {key: result.get(key) for key in SUMMARY[:-1]} | {"folder": str(folder)}
