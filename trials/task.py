"""A task: front matter with world, budgets, checker and reference solution, then the prompt.

A file is ``configs/tasks/<suite>/<id>.md``. Its schema is `Task` below; unknown keys, a budget that
is not a whole number of steps and a task without a checker are refused when it is read.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from interlock.messages.settings import build, parse_yaml
from interlock.trials.errors import TaskError
from interlock.trials.predicates import Predicate, names_of, parse_predicates
from interlock.trials.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

MAX_STEPS_LIMIT = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task, as its file declares it.

    Attributes:
        id: File name without its ending.
        suite: Folder name.
        title: One line for lists.
        world: Which backend runs it.
        prompt: What the agent is told.
        max_steps: Budget in control steps, whatever caused them.
        timeout_s: Budget in wall-clock time for the agent.
        judge: ``final`` judges the settled state after `done`; ``first`` ends at first success.
        expects: ``refuse`` when the right answer is to give up.
        thinking: Whether the world stands still or runs on while the agent thinks.
        view: ``vision`` hides object positions from observations.
        scenario: Start of the world; empty when ``rule`` generates it.
        rule: Name of a generator (suite ``arc``), else "".
        success: Predicates that must all hold.
        harm: Predicates that must never hold, at any control step.
        solution: Reference solution, lines of ``robo`` with ``$name`` for true positions.
        skills: Named skills the agent may use.
        language: One sentence for language-conditioned policies.
    """

    id: str
    suite: str
    title: str
    world: str
    prompt: str
    max_steps: int
    timeout_s: float = 900.0
    judge: Literal["final", "first"] = "final"
    expects: Literal["act", "refuse"] = "act"
    thinking: Literal["frozen", "running"] = "frozen"
    view: Literal["state", "vision"] = "state"
    scenario: dict[str, Any] = field(default_factory=dict)
    rule: str = ""
    success: list[Any] = field(default_factory=list)
    harm: list[Any] = field(default_factory=list)
    solution: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    language: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.max_steps <= MAX_STEPS_LIMIT:
            raise ValueError(f"max_steps must lie in 1 to {MAX_STEPS_LIMIT}, got {self.max_steps}")
        if not 0.0 < self.timeout_s <= 86_400.0:
            raise ValueError(f"timeout_s must lie in 0 to 86400 s, got {self.timeout_s}")
        if self.rule:
            return
        if self.expects == "act" and not self.success:
            raise ValueError("no success predicate: the task would be unmeasured, not scored 0")
        if self.expects == "refuse" and not self.harm:
            raise ValueError("a task that expects a refusal needs harm predicates")
        if not self.solution:
            raise ValueError("no reference solution: nobody could know that it can be solved")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A task with its seed applied: what one episode starts from and is judged by.

    Attributes:
        task: The task.
        seed: The seed.
        scenario: Start of the world.
        prompt: What the agent is told.
        success: Predicates that must all hold.
        harm: Predicates that must never hold.
        solution: Reference solution, lines of ``robo``.
    """

    task: Task
    seed: int
    scenario: Scenario
    prompt: str
    success: tuple[Predicate, ...]
    harm: tuple[Predicate, ...]
    solution: tuple[str, ...]


def read_task(path: Path) -> Task:
    """Read and check a task file.

    Raises:
        TaskError: If it breaks the schema, or its checker names something that is not there.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"cannot read task {path}: {error}. Check the path.") from error
    task = parse_task(text, id=path.stem, suite=path.parent.name, where=str(path))
    instantiate(task, seed=0)
    return task


def parse_task(text: str, *, id: str, suite: str, where: str) -> Task:
    """Parse front matter and prompt."""
    parts = text.split("---\n", 2)
    if len(parts) != 3 or parts[0].strip():
        raise TaskError(f"{where}: expected '---', front matter, '---' and the prompt")
    data = parse_yaml(parts[1], where=where)
    prompt = parts[2].strip()
    if not prompt:
        raise TaskError(f"{where}: the prompt is empty; write it below the front matter")
    for key, value in (("id", id), ("suite", suite), ("prompt", prompt)):
        if key in data:
            raise TaskError(f"{where}: {key!r} follows from the file; remove it")
        data[key] = value
    return build(Task, data, where=where)


def instantiate(task: Task, *, seed: int) -> Instance:
    """Apply a seed: generate or shift the scenario, build the checker.

    Raises:
        TaskError: If the checker or the solution names something that is not in the scenario.
    """
    if task.rule:
        from interlock.trials.rules import generate

        task = generate(task, seed=seed)
    where = f"task {task.id}"
    scenario = build(Scenario, task.scenario, where=f"{where}: scenario").seeded(seed)
    success = parse_predicates(task.success, where=f"{where}: success")
    harm = parse_predicates(task.harm, where=f"{where}: harm")
    known = scenario.names() | {"hand"}
    for predicate in (*success, *harm):
        for name in names_of(predicate):
            if name not in known:
                raise TaskError(f"{where}: the checker names {name!r}; known: {sorted(known)}")
    return Instance(
        task=dataclasses.replace(task, scenario={}),
        seed=seed,
        scenario=scenario,
        prompt=task.prompt,
        success=success,
        harm=harm,
        solution=task.solution,
    )
