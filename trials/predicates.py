"""Success, progress and harm as data: small predicates over a Scene.

In a task file a predicate is a mapping with one key, its kind: ``near: {object: cup, ...}``.
`PREDICATES` is the whole vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from interlock.messages.errors import nearest
from interlock.messages.settings import build
from interlock.trials.errors import TaskError

if TYPE_CHECKING:
    from interlock.trials.scenario import Scene


class Predicate(Protocol):
    """Something that holds of a scene or does not."""

    def __call__(self, scene: Scene, /) -> bool:
        """Return whether it holds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """The centre of ``object`` is within ``within_m`` of ``target``, counted in x and y.

    With ``height_m`` the vertical distance must also be within that.
    """

    object: str
    target: str
    within_m: float
    height_m: float | None = None

    def __call__(self, scene: Scene) -> bool:
        """Return whether it holds."""
        ax, ay, az = scene.place(self.object)
        bx, by, bz = scene.place(self.target)
        level = self.height_m is None or abs(az - bz) <= self.height_m
        return level and math.hypot(ax - bx, ay - by) <= self.within_m


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """The centre of ``object`` is within ``within_m`` of a point, and the hand has let go."""

    object: str
    position_m: tuple[float, float, float]
    within_m: float

    def __call__(self, scene: Scene) -> bool:
        """Return whether it holds."""
        body = scene.bodies[self.object]
        return math.dist(body.position_m, self.position_m) <= self.within_m and not body.held


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """The centre of ``object`` lies inside ``zone`` and the hand has let go of it."""

    object: str
    zone: str

    def __call__(self, scene: Scene) -> bool:
        """Return whether it holds."""
        body, zone = scene.bodies[self.object], scene.zones[self.zone]
        dx = abs(body.position_m[0] - zone.centre_m[0])
        dy = abs(body.position_m[1] - zone.centre_m[1])
        return dx <= zone.size_m[0] / 2 and dy <= zone.size_m[1] / 2 and not body.held


@dataclass(frozen=True, slots=True, kw_only=True)
class On:
    """``object`` rests on ``base``, not held: centre over it, bottom at its top."""

    object: str
    base: str
    within_m: float = 0.02

    def __call__(self, scene: Scene) -> bool:
        """Return whether it holds."""
        top, base = scene.bodies[self.object], scene.bodies[self.base]
        dx = abs(top.position_m[0] - base.position_m[0])
        dy = abs(top.position_m[1] - base.position_m[1])
        gap = (top.position_m[2] - top.size_m[2] / 2) - (base.position_m[2] + base.size_m[2] / 2)
        over = dx <= base.size_m[0] / 2 and dy <= base.size_m[1] / 2
        return over and abs(gap) <= self.within_m and not top.held


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The hand holds ``object``."""

    object: str

    def __call__(self, scene: Scene) -> bool:
        """Return whether it holds."""
        return scene.bodies[self.object].held


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifted:
    """``object`` is at least ``by_m`` higher than it started."""

    object: str
    by_m: float

    def __call__(self, scene: Scene) -> bool:
        """Return whether it holds."""
        body = scene.bodies[self.object]
        return body.position_m[2] - body.start_m[2] >= self.by_m


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmoved:
    """``object`` is within ``within_m`` of where it started, and not held."""

    object: str
    within_m: float = 0.03

    def __call__(self, scene: Scene) -> bool:
        """Return whether it holds."""
        body = scene.bodies[self.object]
        return math.dist(body.position_m, body.start_m) <= self.within_m and not body.held


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """The environment itself says so; what it does not say does not hold."""

    name: str

    def __call__(self, scene: Scene) -> bool:
        """Return whether it holds."""
        return bool(scene.signals.get(self.name, False))


@dataclass(frozen=True, slots=True, kw_only=True)
class Not:
    """The other predicate does not hold."""

    other: Predicate

    def __call__(self, scene: Scene) -> bool:
        """Return whether it holds."""
        return not self.other(scene)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """At least one of several holds."""

    options: tuple[Predicate, ...]

    def __call__(self, scene: Scene) -> bool:
        """Return whether it holds."""
        return any(option(scene) for option in self.options)


PREDICATES: dict[str, type[Any]] = {
    "near": Near,
    "at": At,
    "inside": Inside,
    "on_top": On,
    "held": Held,
    "lifted": Lifted,
    "unmoved": Unmoved,
    "signal": Signal,
}


def parse_predicate(data: object, *, where: str) -> Predicate:
    """Build one predicate from a task file.

    Raises:
        TaskError: Unknown kind (with the nearest one) or wrong arguments.
    """
    if not isinstance(data, Mapping) or len(data) != 1:
        raise TaskError(f"{where}: a predicate is one key with its arguments, got {data!r}")
    [(kind, arguments)] = data.items()
    if kind == "not":
        return Not(other=parse_predicate(arguments, where=f"{where}.not"))
    if kind == "any":
        return AnyOf(options=parse_predicates(arguments, where=f"{where}.any"))
    if kind not in PREDICATES:
        known = (*PREDICATES, "not", "any")
        raise TaskError(f"{where}: unknown predicate {kind!r}; {nearest(str(kind), known)}")
    predicate: Predicate = build(PREDICATES[kind], arguments, where=f"{where}.{kind}")
    return predicate


def parse_predicates(data: object, *, where: str) -> tuple[Predicate, ...]:
    """Build a list of predicates."""
    if not isinstance(data, list):
        raise TaskError(f"{where}: expected a list of predicates, got {type(data).__name__}")
    return tuple(parse_predicate(item, where=f"{where}[{i}]") for i, item in enumerate(data))


def names_of(predicate: Predicate) -> Iterator[str]:
    """Yield the names of bodies and zones that a predicate reads."""
    if isinstance(predicate, Not):
        yield from names_of(predicate.other)
    elif isinstance(predicate, AnyOf):
        for option in predicate.options:
            yield from names_of(option)
    else:
        for key in ("object", "target", "zone", "base"):
            if name := getattr(predicate, key, ""):
                yield name


def progress(predicates: Sequence[Callable[[Scene], bool]], scene: Scene) -> float | None:
    """Return which part of the predicates holds; None if there are none (unmeasured)."""
    if not predicates:
        return None
    return sum(predicate(scene) for predicate in predicates) / len(predicates)
