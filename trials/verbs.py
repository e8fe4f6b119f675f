"""The one table of verbs from which ``robo``, its server and the MCP tools are made.

A value outside its limits is refused with the limit; nothing is clamped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from interlock.messages.errors import nearest
from interlock.trials.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TEXT_LIMIT = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One value of a verb.

    Attributes:
        name: Key in the JSON request; as an option it is written ``--name-with-dashes``.
        kind: ``numbers`` and ``words`` take every positional value that is left.
        help: One line.
        option: Whether it is given as ``--name``; else by position.
        required: Whether it must be given.
        low: Smallest number.
        high: Largest number.
        count: How many numbers, exactly; 0 if that depends on the robot.
    """

    name: str
    kind: Literal["number", "whole", "numbers", "word", "words", "text", "flag"]
    help: str
    option: bool = False
    required: bool = False
    low: float = -math.inf
    high: float = math.inf
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One verb: its name in JSON (dashes on the command line), help and parameters."""

    name: str
    help: str
    parameters: tuple[Parameter, ...] = ()
    moves: bool = False

    @property
    def spoken(self) -> str:
        """Return the name as typed, ``move-to``."""
        return self.name.replace("_", "-")

    def usage(self) -> str:
        """Return one line: how to type it."""
        words = [_shown(parameter) for parameter in self.parameters]
        return " ".join(("robo", self.spoken, *words))


def _option(name: str, kind: Any, help: str, low: float = 0.0, high: float = 0.0) -> Parameter:
    if high == 0.0:
        return Parameter(name=name, kind=kind, help=help, option=True)
    return Parameter(name=name, kind=kind, help=help, option=True, low=low, high=high)


VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb(name="info", help="What this robot and this task offer: actions, skills, budget."),
        Verb(
            name="observe",
            help="What the robot senses now; free.",
            parameters=(
                _option("image", "flag", "also take pictures"),
                _option("camera", "word", "only this camera"),
                _option("width", "whole", "picture width in pixels", 8, 2048),
                _option("height", "whole", "picture height in pixels", 8, 2048),
            ),
        ),
        Verb(
            name="act",
            help="One low-level action; see `robo info` for its values.",
            moves=True,
            parameters=(
                Parameter(name="action", kind="numbers", help="the values", required=True),
                _option("repeat", "whole", "how many control steps", 1, 50),
            ),
        ),
        Verb(
            name="move_to",
            help="Move the tool to x y z (m, world frame).",
            moves=True,
            parameters=(
                Parameter(
                    name="position", kind="numbers", help="x y z in m", required=True, count=3
                ),
                _option("grip", "number", "gripper opening on the way, 0 to 1", 0, 1),
                _option("tolerance_m", "number", "how near is there", 0.001, 0.1),
                _option("max_steps", "whole", "give up after", 1, 500),
            ),
        ),
        Verb(
            name="grip",
            help="Set the gripper: 0 closed, 1 open.",
            moves=True,
            parameters=(
                Parameter(
                    name="opening", kind="number", help="0 to 1", required=True, low=0, high=1
                ),
                _option("steps", "whole", "control steps to wait", 1, 50),
            ),
        ),
        Verb(
            name="skill",
            help="Run a skill listed by `robo info`.",
            moves=True,
            parameters=(
                Parameter(name="name", kind="word", help="which skill", required=True),
                Parameter(name="arguments", kind="words", help="what it needs"),
            ),
        ),
        Verb(
            name="wait",
            help="Hold still for some control steps.",
            moves=True,
            parameters=(
                Parameter(
                    name="steps", kind="whole", help="how many", required=True, low=1, high=500
                ),
            ),
        ),
        Verb(name="status", help="Whether the episode runs, and what is left of the budget."),
        Verb(
            name="done",
            help="The task is finished: stop and be judged.",
            parameters=(Parameter(name="text", kind="text", help="a remark"),),
        ),
        Verb(
            name="give_up",
            help="The task can't or must not be done.",
            parameters=(Parameter(name="text", kind="text", help="the reason"),),
        ),
    )
}


def find_verb(name: object) -> Verb:
    """Return a verb by its name, with dashes or underscores.

    Raises:
        UsageError: If there is none.
    """
    verb = VERBS.get(str(name).replace("-", "_"))
    if verb is None:
        spoken = [known.spoken for known in VERBS.values()]
        raise UsageError(f"no verb {name!r}; {nearest(str(name), spoken)}; try `robo help`")
    return verb


def check_arguments(verb: Verb, data: Mapping[str, object]) -> dict[str, Any]:
    """Check the values of a JSON request.

    Raises:
        UsageError: Unknown or missing value, wrong type, or a number outside its limits.
    """
    known = {parameter.name: parameter for parameter in verb.parameters}
    for key in data:
        if key not in known:
            raise UsageError(f"{verb.spoken}: no value {key!r}; {nearest(key, known)}")
    for parameter in verb.parameters:
        if parameter.required and data.get(parameter.name) is None:
            raise UsageError(f"{verb.spoken}: {parameter.name} is missing. Usage: {verb.usage()}")
    return {
        key: _check(verb, known[key], value) for key, value in data.items() if value is not None
    }


def _check(verb: Verb, parameter: Parameter, value: object) -> Any:
    where = f"{verb.spoken}: {parameter.name}"
    match parameter.kind:
        case "flag":
            if isinstance(value, bool):
                return value
        case "number" | "whole":
            return _number(where, parameter, value)
        case "numbers":
            if isinstance(value, list | tuple):
                return _numbers(where, parameter, value)
        case "words":
            if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
                return list(value)
        case _:
            if isinstance(value, str) and len(value) <= TEXT_LIMIT:
                return value
    raise UsageError(f"{where} must be {_wanted(parameter)}, got {str(value)[:60]!r}")


def _number(where: str, parameter: Parameter, value: object) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{where} must be {_wanted(parameter)}, got {str(value)[:60]!r}")
    if not math.isfinite(value):
        raise UsageError(f"{where} must be a finite number, got {value}")
    if parameter.kind == "whole" and value != int(value):
        raise UsageError(f"{where} must be a whole number, got {value}")
    if not parameter.low <= value <= parameter.high:
        raise UsageError(
            f"{where} must lie in {parameter.low:g} to {parameter.high:g}, got {value:g}. "
            "Send a value inside; nothing is clamped"
        )
    return int(value) if parameter.kind == "whole" else float(value)


def _numbers(where: str, parameter: Parameter, value: Sequence[object]) -> list[float]:
    if parameter.count and len(value) != parameter.count:
        raise UsageError(f"{where} must be {parameter.count} numbers, got {len(value)}")
    return [float(_number(f"{where}[{i}]", parameter, item)) for i, item in enumerate(value)]


def _wanted(parameter: Parameter) -> str:
    return {
        "number": "a number",
        "whole": "a whole number",
        "numbers": "a list of numbers",
        "words": "a list of words",
        "flag": "true or false",
    }.get(parameter.kind, f"text of at most {TEXT_LIMIT} characters")


def _shown(parameter: Parameter) -> str:
    name = parameter.name.replace("_", "-")
    if parameter.kind == "flag":
        return f"[--{name}]"
    if parameter.option:
        return f"[--{name} {parameter.kind.upper()}]"
    label = name.upper() + ("..." if parameter.kind in ("numbers", "words") else "")
    return label if parameter.required else f"[{label}]"
