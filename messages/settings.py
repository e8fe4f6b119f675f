"""Turn YAML into frozen dataclasses; refuse unknown keys, wrong types and missing values.

Units are part of the field names (``max_age_ms``), so a value without its unit is an unknown
key, and the error names the key that carries the unit.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml

from interlock.messages.errors import SettingsError, nearest

T = TypeVar("T")


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file whose top level is a mapping.

    Raises:
        SettingsError: If the file is missing, is not YAML, repeats a key or is not a mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingsError(f"cannot read {path}: {reason}. Check the path.") from error
    return parse_yaml(text, where=str(path))


def parse_yaml(text: str, *, where: str) -> dict[str, Any]:
    """Parse YAML whose top level is a mapping; ``where`` names it in errors."""
    try:
        data = yaml.load(text, Loader=_StrictLoader)
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", -1) + 1
        problem = getattr(error, "problem", None) or "not YAML"
        raise SettingsError(f"{where}, line {line}: {problem}") from error
    if not isinstance(data, dict):
        raise SettingsError(f"{where}: expected keys and values, got {type(data).__name__}")
    return data


class _StrictLoader(yaml.SafeLoader):
    """A SafeLoader that refuses a key given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str | int) and key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"key {key!r} is given twice", problem_mark=key_node.start_mark
                )
            seen.add(key if isinstance(key, str | int) else None)
        return super().construct_mapping(node, deep=deep)


def build(cls: type[T], data: object, *, where: str) -> T:
    """Build a dataclass from parsed YAML.

    Args:
        cls: A dataclass. Nested dataclasses, ``list[X]``, ``tuple[X, ...]``, ``dict[str, X]``,
            unions with None and ``Literal`` are followed. Its own ``__post_init__`` may raise
            ValueError about ranges.
        data: What the YAML held.
        where: Place named in errors, e.g. ``"configs/gate/default.yml: checks.workspace"``.

    Raises:
        SettingsError: Unknown key (with the nearest one), missing key, wrong type, bad value.
    """
    if not isinstance(data, Mapping):
        raise SettingsError(f"{where}: expected keys and values, got {_shown(data)}")
    hints = typing.get_type_hints(cls)
    fields = {f.name: f for f in dataclasses.fields(cls) if f.init}  # type: ignore[arg-type]
    for key in data:
        if key not in fields:
            raise SettingsError(f"{where}: unknown key {key!r}; {nearest(str(key), fields)}")
    values: dict[str, Any] = {}
    for name, field in fields.items():
        if name in data:
            values[name] = convert(hints[name], data[name], where=f"{where}: {name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise SettingsError(f"{where}: key {name!r} is missing")
    try:
        return cls(**values)
    except SettingsError:
        raise
    except ValueError as error:
        raise SettingsError(f"{where}: {error}") from error


def convert(hint: Any, value: object, *, where: str) -> Any:
    """Check one value against a type hint and return it converted (int to float, list to tuple).

    Raises:
        SettingsError: If the value does not have the type.
    """
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        return _convert_union(args, value, where=where)
    if origin is typing.Literal:
        if value in args and type(value) in {type(a) for a in args}:
            return value
        options = ", ".join(repr(a) for a in args)
        raise SettingsError(f"{where}: expected one of {options}, got {_shown(value)}")
    if origin in (list, tuple, Sequence):
        return _convert_sequence(origin, args, value, where=where)
    if origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise SettingsError(f"{where}: expected keys and values, got {_shown(value)}")
        return {k: convert(args[1], v, where=f"{where}.{k}") for k, v in value.items()}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return value if isinstance(value, hint) else build(hint, value, where=where)
    return _convert_scalar(hint, value, where=where)


def _convert_union(args: tuple[Any, ...], value: object, *, where: str) -> Any:
    if value is None and type(None) in args:
        return None
    problems = []
    for option in args:
        if option is type(None):
            continue
        try:
            return convert(option, value, where=where)
        except SettingsError as error:
            problems.append(error)
    raise problems[0]


def _convert_sequence(origin: Any, args: tuple[Any, ...], value: object, *, where: str) -> Any:
    if not isinstance(value, list | tuple):
        raise SettingsError(f"{where}: expected a list, got {_shown(value)}")
    fixed = origin is tuple and not (len(args) == 2 and args[1] is Ellipsis)
    if fixed and len(value) != len(args):
        raise SettingsError(f"{where}: expected {len(args)} values, got {len(value)}")
    kinds = args if fixed else (args[0],) * len(value)
    items = [
        convert(kind, item, where=f"{where}[{i}]")
        for i, (kind, item) in enumerate(zip(kinds, value, strict=True))
    ]
    return items if origin is list else tuple(items)


def _convert_scalar(hint: Any, value: object, *, where: str) -> Any:
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
        if number != number:
            raise SettingsError(f"{where}: expected a number, got NaN")
        return number
    if hint is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if hint is Path and isinstance(value, str):
        return Path(value)
    if isinstance(hint, type) and hint not in (int, float, Path) and isinstance(value, hint):
        return value
    name = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}.get(
        hint, getattr(hint, "__name__", str(hint))
    )
    raise SettingsError(f"{where}: expected {name}, got {_shown(value)}")


def _shown(value: object) -> str:
    return f"{type(value).__name__} {str(value)[:60]!r}"
