"""Cup-nudge: the cup is pushed 8 cm while the arm approaches it; four programs, 24 pushes each."""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from statistics import median
from typing import Any

from interlock.benchmarks.arena import Disturbance, Outcome, play, reaction_s

PROGRAMS = ("blocking", "blocking_retry", "verify_retry", "task_based")
PUSH_M = 0.08
PUSH_S = 0.15
#: Moments of the push, in s after the start: all before the fingers are around the cup.
MOMENTS_S = (0.20, 0.33, 0.46, 0.59, 0.72, 0.85)
DIRECTIONS_DEG = (0, 90, 180, 270)
#: The commanded tool counts as redirected when it is this far off its undisturbed way, in m.
REACTED_M = 0.001
LIMIT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Nudge:
    """One variant: when the cup is pushed and where to."""

    at_s: float
    degrees: int

    def disturbance(self) -> Disturbance:
        """Return the push."""
        angle = math.radians(self.degrees)
        by_m = [PUSH_M * math.cos(angle), PUSH_M * math.sin(angle), 0.0]
        values = {"name": "cup_red", "by_m": by_m, "duration_s": PUSH_S}
        return Disturbance(at_s=self.at_s, action="push", values=values)


NUDGES = tuple(Nudge(at_s=t, degrees=d) for t in MOMENTS_S for d in DIRECTIONS_DEG)
#: Layout without room drawn at random: the cup stands where every push leaves it in reach.
LAYOUT_SEED = 0


def run_nudge(program: str, nudge: Nudge | None) -> Outcome:
    """Run a program with one push, or without."""
    disturbances = (nudge.disturbance(),) if nudge else ()
    return play(program, disturbances, layout_seed=LAYOUT_SEED, limit_s=LIMIT_S)


def run_program(program: str, nudges: tuple[Nudge, ...] = NUDGES, *, workers: int = 2) -> Any:
    """Return the row of one program over all pushes."""
    jobs: list[Nudge | None] = [None, *nudges]
    with ProcessPoolExecutor(max_workers=workers) as pool:
        outcomes = list(pool.map(run_nudge, [program] * len(jobs), jobs))
    return row(program, outcomes[0], nudges, outcomes[1:])


def row(
    program: str, undisturbed: Outcome, nudges: tuple[Nudge, ...], outcomes: list[Outcome]
) -> dict[str, Any]:
    """Return one row of the table; medians over the runs that succeeded."""
    done = [o.completion_s for o in outcomes if o.success]
    reactions = [
        reaction_s(o, undisturbed, n.at_s, moved_m=REACTED_M)
        for n, o in zip(nudges, outcomes, strict=True)
    ]
    reacted = [r for r in reactions if r is not None]
    return {
        "name": program,
        "n": len(outcomes),
        "successes": len(done),
        "completion_s": round(median(done), 3) if done else None,
        "reaction_s": round(median(reacted), 3) if reacted else None,
        "slowest_reaction_s": round(max(reacted), 3) if reacted else None,
        "empty_closes": sum(o.empty_closes for o in outcomes),
    }
