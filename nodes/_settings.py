"""Settings of a node: the `env:` block of the dataflow as a frozen dataclass."""

from __future__ import annotations

import dataclasses
import json
import typing
from typing import TYPE_CHECKING, Any

from interlock.messages.errors import SettingsError, nearest
from interlock.messages.settings import build

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Names in `env:` that belong to the runtime, not to a node's own settings.
RUNTIME_NAMES = frozenset({"PYTHONSAFEPATH", "LOCKSTEP_THINKING_MS", "INTERLOCK_SEED"})


def from_env(cls: type, env: Mapping[str, Any], *, where: str) -> Any:
    """Build a node's settings from its `env:` block.

    Args:
        cls: The node's ``Settings`` dataclass; field ``max_age_ms`` is set by ``MAX_AGE_MS``.
        env: Upper-case names to values as YAML or the environment gave them.
        where: Place named in errors, e.g. ``"dataflow.yml: node camera: env"``.

    Raises:
        SettingsError: Unknown name (with the nearest one) or a value of the wrong type.
    """
    hints = typing.get_type_hints(cls)
    names = {f.name.upper(): f.name for f in dataclasses.fields(cls)}
    values: dict[str, Any] = {}
    for name, raw in env.items():
        if name in RUNTIME_NAMES:
            continue
        if name not in names:
            raise SettingsError(f"{where}: unknown setting {name!r}; {nearest(name, names)}")
        field = names[name]
        values[field] = _parsed(hints[field], raw)
    return build(cls, values, where=where)


def _parsed(hint: Any, raw: Any) -> Any:
    """Read text from the environment as the type that the field has; keep what does not parse."""
    if not isinstance(raw, str) or hint is str:
        return str(raw) if hint is str and isinstance(raw, int | float) else raw
    text = raw.strip()
    if type(None) in typing.get_args(hint) and text == "":
        return None
    if hint is str or str in typing.get_args(hint):
        return raw
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"yes": True, "no": False, "True": True, "False": False}.get(text, raw)
