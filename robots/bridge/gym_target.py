"""What `gym(...)` may be pointed at, and which arguments build it or start an episode."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.messages.errors import nearest
from interlock.robots.bridge.faults import BridgeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

#: Arguments of every episode: a seed, and a dict for the environment's own options.
EPISODIC = ("seed", "options")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An environment that can be built in another process.

    Attributes:
        kind: ``"id"``, ``"factory"`` or ``"spec"``.
        text: Registry id, ``place:name`` of a factory, or the JSON of a spec.
        build: Arguments of the constructor.
        episodic: Names a reset may pass on as options, beside seed and options.
        fps: Control rate, or None for the environment's own.
        imports: Modules that register the id.
    """

    kind: str
    text: str
    build: Mapping[str, Any] = field(default_factory=dict)
    episodic: tuple[str, ...] = ()
    fps: float | None = None
    imports: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """A short name for the robot type."""
        if self.kind == "spec":
            return str(json.loads(self.text).get("id", "gym"))
        return self.text.rsplit(":", 1)[-1] if self.kind == "factory" else self.text

    def make(self, build: Mapping[str, Any]) -> Any:
        """Build the environment.

        Raises:
            BridgeError: If the target is not found, or does not take these arguments.
        """
        if self.kind == "factory":
            factory = load(self.text)
            _check_signature(factory, build, self.text)
            return factory(**build)
        import gymnasium

        for module in self.imports:
            importlib.import_module(module)
        try:
            if self.kind == "spec":
                return gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(self.text))
            return gymnasium.make(self.text, **build)
        except (gymnasium.error.Error, TypeError) as error:
            raise BridgeError(
                f"cannot make {self.name!r}: {' '.join(str(error).split())}"
            ) from error

    def split(self, task: Mapping[str, Any]) -> tuple[dict[str, Any], Any, dict[str, Any] | None]:
        """Return build arguments, seed and options of a reset.

        Raises:
            BridgeError: An argument that is neither; it names the nearest.
        """
        known_build = self._build_names()
        build, options = dict(self.build), dict(task.get("options") or {})
        for name, value in task.items():
            if name in EPISODIC:
                continue
            if name in known_build:
                build[name] = value
            elif name in self.episodic:
                options[name] = value
            else:
                known = {*known_build, *EPISODIC, *self.episodic}
                raise BridgeError(
                    f"reset has no argument {name!r}; {nearest(name, known)}. "
                    "Pass it in options={...}, or name it in gym(..., episodic=(...))"
                )
        return build, task.get("seed"), options or None

    def _build_names(self) -> set[str]:
        names = set(self.build)
        if self.kind == "factory":
            names |= {
                p.name
                for p in inspect.signature(load(self.text)).parameters.values()
                if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
            }
        return names


def target_of(
    what: Any,
    build: Mapping[str, Any],
    *,
    episodic: tuple[str, ...] = (),
    fps: float | None = None,
    imports: tuple[str, ...] = (),
) -> Target:
    """Return the target for a factory, a registry id, ``place:name``, or a constructed environment.

    Raises:
        BridgeError: If it could not be built again in another process.
    """
    rest: dict[str, Any] = {
        "build": dict(build),
        "episodic": episodic,
        "fps": fps,
        "imports": imports,
    }
    if isinstance(what, str):
        place, _, name = what.rpartition(":")
        is_factory = bool(place) and name.isidentifier()
        return Target(kind="factory" if is_factory else "id", text=what, **rest)
    if callable(what) and not hasattr(what, "step"):
        return Target(kind="factory", text=place_of(what), **rest)
    return Target(kind="spec", text=_spec_of(what), **rest)


def place_of(thing: Callable[..., Any]) -> str:
    """Return ``place:name`` from which another process can load a function or class.

    Raises:
        BridgeError: For lambdas, methods and anything else that is not at module level.
    """
    name = getattr(thing, "__qualname__", "")
    if not name.isidentifier():
        raise BridgeError(
            f"{name or thing!r} is not at module level, so the simulator process can't import it; "
            "move it there"
        )
    module = sys.modules.get(thing.__module__)
    file = getattr(module, "__file__", None)
    if file is None:
        raise BridgeError(f"{thing.__module__} has no file; put {name} in a module")
    # Tests and scripts are not importable by name, a file always is.
    return f"{Path(file).resolve()}:{name}"


def load(text: str) -> Callable[..., Any]:
    """Return what ``file.py:name`` or ``package.module:name`` names.

    Raises:
        BridgeError: If file, module or name does not exist.
    """
    place, _, name = text.rpartition(":")
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    found = getattr(module, name, None)
    if not callable(found):
        raise BridgeError(f"{place} has no {name!r}; {nearest(name, vars(module))}")
    return found  # type: ignore[no-any-return]


def _load_file(path: Path) -> ModuleType:
    key = "interlock_target_" + path.stem
    known = sys.modules.get(key)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    spec = importlib.util.spec_from_file_location(key, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise BridgeError(f"no file {path}; check the path")
    module = importlib.util.module_from_spec(spec)
    sys.modules[key] = module
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


def _load_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise BridgeError(f"no module {error.name!r}; install it or check the name") from error


def _spec_of(env: Any) -> str:
    spec = getattr(env, "spec", None)
    if spec is None:
        raise BridgeError(
            "a constructed environment without a spec can't be built again in another process; "
            "pass a factory function instead"
        )
    try:
        text: str = spec.to_json()
    except (ValueError, TypeError) as error:
        raise BridgeError(
            f"this environment's spec has no JSON form ({error}); pass a factory"
        ) from error
    env.close()
    return text


def _check_signature(factory: Callable[..., Any], build: Mapping[str, Any], text: str) -> None:
    signature = inspect.signature(factory)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    for name in build:
        if name not in signature.parameters and not takes_any:
            raise BridgeError(
                f"{text} has no argument {name!r}; {nearest(name, signature.parameters)}"
            )
    missing = [
        p.name
        for p in signature.parameters.values()
        if p.default is p.empty
        and p.name not in build
        and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    if missing:
        raise BridgeError(f"{text} needs {', '.join(missing)}; pass it to gym(...)")
