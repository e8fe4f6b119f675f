"""Tasks of the simulation suites that are installed: `interlock env list` says which.

Each task is an environment with its own success; it has no reference solution of ours, so
`tasks check` leaves it out, and the oracle refuses it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from interlock.trials.errors import TaskError
from interlock.trials.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterable

METAWORLD = (
    "assembly basketball bin-picking box-close button-press-topdown button-press-topdown-wall "
    "button-press button-press-wall coffee-button coffee-pull coffee-push dial-turn disassemble "
    "door-close door-lock door-open door-unlock hand-insert drawer-close drawer-open faucet-open "
    "faucet-close hammer handle-press-side handle-press handle-pull-side handle-pull lever-pull "
    "pick-place-wall pick-out-of-hole pick-place plate-slide plate-slide-side plate-slide-back "
    "plate-slide-back-side peg-insert-side peg-unplug-side soccer stick-push stick-pull push "
    "push-wall push-back reach reach-wall shelf-place sweep-into sweep window-open window-close"
)
LIBERO = ("libero_spatial", "libero_object", "libero_goal", "libero_10")
ROBOTICS = (
    "FetchReach-v4 FetchPush-v4 FetchSlide-v4 FetchPickAndPlace-v4 FrankaKitchen-v1 "
    "AdroitHandDoor-v1 AdroitHandHammer-v1 AdroitHandPen-v1 AdroitHandRelocate-v1"
)
ROBOSUITE = (
    "Lift Stack NutAssembly NutAssemblySquare NutAssemblyRound PickPlace PickPlaceCan Door Wipe"
)

#: Suite -> its tasks, the name of each in our ids, and the budget in control steps.
SUITES: dict[str, tuple[dict[str, str], int]] = {
    "metaworld": ({name: f"{name}-v3" for name in METAWORLD.split()}, 500),
    "libero": ({f"{s[7:]}-{i}": f"{s}/{i}" for s in LIBERO for i in range(10)}, 600),
    "gymnasium-robotics": (
        {name.rpartition("-")[0].lower(): name for name in ROBOTICS.split()},
        500,
    ),
    "robosuite": ({name.lower(): name for name in ROBOSUITE.split()}, 500),
}


class GymSuites:
    """Every task of every suite that is installed on this machine."""

    def ids(self) -> list[str]:
        """Return the ids, suite by suite."""
        return [f"{suite}-{name}" for suite in self._installed() for name in SUITES[suite][0]]

    def read(self, task_id: str) -> Task:
        """Return one task.

        Raises:
            TaskError: If there is none of that id.
        """
        for suite in self._installed():
            name = task_id.removeprefix(f"{suite}-")
            if task_id != name and name in SUITES[suite][0]:
                return _task(task_id, suite, SUITES[suite][0][name], SUITES[suite][1])
        raise TaskError(f"no task {task_id!r} in the installed suites")

    def _installed(self) -> Iterable[str]:
        known = importlib.import_module("interlock.robots.bridge.suites").SUITES
        return [name for name in SUITES if name in known and known[name].installed]


def _task(task_id: str, suite: str, name: str, steps: int) -> Task:
    return Task(
        id=task_id,
        suite=suite,
        title=name,
        world=f"gym:{suite}/{name}",
        prompt=(
            f"The robot is in the environment {name} of the suite {suite}. Make it succeed by the "
            "environment's own measure. `robo info` names the values of `act`."
        ),
        max_steps=steps,
        scenario={"objects": {}},
        success=[{"signal": {"name": "success"}}],
        solution=("done",),
    )
