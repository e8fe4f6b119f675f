"""JSON schemas of the registered skills, from their fields and docstrings: tools, MCP, docs."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import types
import typing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.policies.skills.skill import Skill

_TARGET: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "description": "name of an object or place"},
        {
            "type": "array",
            "items": {"type": "number"},
            "minItems": 3,
            "maxItems": 7,
            "description": "x, y, z in m, optionally followed by a quaternion w, x, y, z",
        },
    ]
}
_PLAIN = {float: "number", int: "integer", str: "string", bool: "boolean"}


def summary(cls: type[Skill]) -> str:
    """Return the first line of a skill's docstring."""
    return inspect.getdoc(cls).partition("\n")[0]  # type: ignore[union-attr]


def descriptions(cls: type[Skill]) -> dict[str, str]:
    """Return parameter -> its text in the docstring's ``Attributes:``."""
    text = inspect.getdoc(cls) or ""
    found: dict[str, str] = {}
    name = ""
    for line in text.partition("Attributes:")[2].splitlines():
        start = re.match(r"^ {4}(\w+): (.*)$", line)
        if start:
            name = start[1]
            found[name] = start[2]
        elif name and line.startswith("     "):
            found[name] += " " + line.strip()
    return found


def _hints(cls: type[Skill]) -> dict[str, Any]:
    """Return the types of a skill's parameters, also of one in a file that is no module.

    A program's own file is run, not imported; its names are found through the class's functions.
    """
    names: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        names |= vars(sys.modules[base.__module__]) if base.__module__ in sys.modules else {}
        for value in vars(base).values():
            if inspect.isfunction(value) and value.__module__ == base.__module__:
                names |= value.__globals__
    return typing.get_type_hints(cls, globalns=names)


def parameters_schema(cls: type[Skill]) -> dict[str, Any]:
    """Return the JSON schema of a skill's parameters."""
    texts, hints = descriptions(cls), _hints(cls)
    properties: dict[str, Any] = {}
    required = []
    for field in dataclasses.fields(cls):
        schema: dict[str, Any] = (
            dict(_TARGET) if field.name in cls.targets else _schema(hints[field.name])
        )
        schema["description"] = texts.get(field.name, field.name)
        if field.default is dataclasses.MISSING:
            required.append(field.name)
        elif field.default is not None:
            schema["default"] = field.default
        properties[field.name] = schema
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _schema(hint: Any) -> dict[str, Any]:
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        fixed = not (len(args) == 2 and args[1] is Ellipsis)
        schema: dict[str, Any] = {"type": "array", "items": _schema(args[0])}
        return schema | ({"minItems": len(args), "maxItems": len(args)} if fixed else {})
    if origin in (typing.Union, types.UnionType):
        return _schema(next(a for a in args if a is not type(None)))
    return {}


def reference() -> str:
    """Return the reference of all skills that ship with Interlock, as Markdown."""
    from interlock.policies.skills import SKILLS

    parts = [
        "# Skills\n\nWritten by `interlock.policies.skills.schema.reference()`; do not edit.\n"
    ]
    for name, cls in sorted(SKILLS.items()):
        if not cls.__module__.startswith("interlock."):
            continue
        fields = parameters_schema(cls)
        rows = [
            f"| `{field}` | {_default(field, schema, fields)} | {schema['description']} |"
            for field, schema in fields["properties"].items()
        ]
        table = "\n".join(["| parameter | default | |", "|---|---|---|", *rows])
        text = f"## {name}: `{cls.__name__}`\n\n{summary(cls)}\n\n"
        parts.append((text + (table if rows else "")).rstrip())
    return "\n\n".join(parts) + "\n"


def _default(field: str, schema: dict[str, Any], fields: dict[str, Any]) -> str:
    if field in fields["required"]:
        return "required"
    return f"`{schema['default']}`" if schema.get("default") not in (None, "", ()) else ""
