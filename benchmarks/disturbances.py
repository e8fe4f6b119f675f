"""Disturbances: the cup is pushed again and again, carried by a belt, hidden, or slips."""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import click

from interlock.benchmarks.arena import Disturbance, Outcome, play
from interlock.benchmarks.report import finish, json_option
from interlock.operators.statistics import wilson

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = ("verify_retry", "task_based")
VARIANTS = 16
LIMIT_S = 40.0
CUP = "cup_red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One variant of one kind.

    Attributes:
        kind: Name of the kind.
        disturbances: What happens.
        scene: Scene.
        layout_seed: Layout.
    """

    kind: str
    disturbances: tuple[Disturbance, ...] = ()
    scene: str = "tabletop"
    layout_seed: int = 0


def _push(at_s: float, degrees: float, by_m: float, over_s: float = 0.15) -> Disturbance:
    angle = math.radians(degrees)
    by = [by_m * math.cos(angle), by_m * math.sin(angle), 0.0]
    return Disturbance(
        at_s=at_s, action="push", values={"name": CUP, "by_m": by, "duration_s": over_s}
    )


def _named(at_s: float, action: str) -> Disturbance:
    return Disturbance(at_s=at_s, action=action, values={"name": CUP})


def _put(at_s: float, x: float, y: float) -> Disturbance:
    pose = [x, y, 0.051, 1.0, 0.0, 0.0, 0.0]
    return Disturbance(at_s=at_s, action="put", values={"name": CUP, "world_from_object": pose})


def cases(kind: str, n: int = VARIANTS) -> tuple[Case, ...]:
    """Return the variants of a kind."""
    return tuple(Case(**_case(kind, i)) for i in range(n))


def _case(kind: str, i: int) -> dict[str, Any]:
    angle, late = 360.0 * i / VARIANTS, 0.05 * (i % 4)
    if kind == "repeated push":
        pushes = (
            _push(0.3 + late, angle, 0.05),
            _push(0.7 + late, angle + 150, 0.05),
            _push(1.1 + late, angle + 60, 0.04),
        )
        return {"kind": kind, "disturbances": pushes}
    if kind == "moving":
        belt = Disturbance(
            at_s=0.0, action="set_belt", values={"speed_m_s": 0.02 + 0.003 * (i % 8)}
        )
        return {"kind": kind, "disturbances": (belt,), "scene": "conveyor", "layout_seed": i}
    if kind == "occluded push":
        hidden = (_named(0.3 + late, "hide"), _push(0.4 + late, angle, 0.08))
        shown = _named(0.9 + 2 * late, "show")
        return {"kind": kind, "disturbances": (*hidden, shown)}
    if kind == "slip":
        place = (0.48 + 0.05 * math.cos(angle), -0.12 + 0.05 * math.sin(angle))
        return {"kind": kind, "disturbances": (_put(2.4 + 0.2 * (i % 8), *place),)}
    if kind == "taken away":
        at_s = 0.2 + 0.055 * (i % VARIANTS)  # before the fingers are around it
        gone = (_named(at_s, "hide"), _named(at_s, "remove"))
        return {"kind": kind, "disturbances": gone}
    crash = (
        Disturbance(at_s=0.2 + late, action="crash"),
        _push(0.4 + late, angle, 0.08),
        Disturbance(at_s=1.0 + late, action="restart"),
    )
    return {"kind": kind, "disturbances": crash}


KINDS = ("repeated push", "moving", "occluded push", "slip", "taken away", "tracker crash")


def run_case(program: str, case: Case) -> Outcome:
    """Run one variant."""
    return play(
        program,
        case.disturbances,
        scene=case.scene,
        layout_seed=case.layout_seed,
        limit_s=LIMIT_S,
    )


@click.command("disturbances")
@click.option("--variants", default=VARIANTS, show_default=True, help="Variants per kind.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only these.")
@json_option
def command(variants: int, kinds: tuple[str, ...], json_file: Path | None) -> None:
    """Disturb programs while they put a cup on a tray."""
    rows = [
        row(program, kind, cases(kind, variants))
        for kind in kinds or KINDS
        for program in PROGRAMS
        if program == "task_based" or kind not in ("taken away", "tracker crash")
    ]
    finish(rows, json_file=json_file, seed=0)


def row(program: str, kind: str, variants: tuple[Case, ...]) -> dict[str, Any]:
    """Run a program against every variant of a kind and return its row."""
    with ProcessPoolExecutor(max_workers=2) as pool:
        outcomes = list(pool.map(run_case, [program] * len(variants), variants))
    gone = kind == "taken away"
    good = [o for o in outcomes if (_gave_up_well(o) if gone else o.success)]
    times = [
        o.completion_s - (c.disturbances[0].at_s if gone else 0.0)
        for o, c in zip(outcomes, variants, strict=True)
        if o in good
    ]
    sure = wilson(len(good), len(outcomes))
    return {
        "name": f"{kind}: {program}",
        "n": len(outcomes),
        "successes": len(good),
        "low": round(sure.low, 3),
        "high": round(sure.high, 3),
        "completion_s": round(median(times), 3) if times else None,
        "slowest_s": round(max(times), 3) if times else None,
        "empty_closes": sum(o.empty_closes for o in outcomes),
        "false_success": sum(not o.failed and bool(o.ended) and not o.success for o in outcomes),
    }


def _gave_up_well(outcome: Outcome) -> bool:
    return outcome.failed and outcome.open_at_end and "allows" in outcome.ended
