"""Finds, inherits, overrides and builds presets: ``configs/policies/<family>/<name>.yml``.

An override is merged deeply: a map is merged key by key, anything else replaces, and null removes
an inherited key. Later wins: the parent, the file, ``--policy-config`` or
``INTERLOCK_VLA_POLICY_CONFIG``, then ``INTERLOCK_VLA_URL``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from interlock.messages.errors import SettingsError, nearest
from interlock.messages.settings import build, read_yaml
from interlock.policies.vla.preset import Preset

_MOST_PARENTS = 8


def presets_dir() -> Path:
    """Return the folder of the presets that come with Interlock."""
    return Path(str(files("interlock.configs"))) / "policies"


def preset_names() -> list[str]:
    """Return every preset as ``family/name``, sorted."""
    folder = presets_dir()
    return sorted(p.relative_to(folder).with_suffix("").as_posix() for p in folder.glob("*/*.yml"))


def load_preset(
    name: str,
    *,
    config: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Preset:
    """Return a preset with every override applied.

    Args:
        name: ``family/name``, or the path of a YAML file.
        config: File whose keys override the preset's; wins over the environment's.
        environment: Where INTERLOCK_VLA_POLICY_CONFIG and INTERLOCK_VLA_URL are looked up.

    Raises:
        SettingsError: An unknown preset or key (with the nearest), or a value that is not allowed.
    """
    environment = environment or {}
    data, where = _read(name)
    named = config or environment.get("INTERLOCK_VLA_POLICY_CONFIG")
    if named:
        override = read_yaml(Path(named))
        _check_keys(override, where=str(named))
        data, where = merge(data, override), f"{where} with {named}"
    if url := environment.get("INTERLOCK_VLA_URL"):
        data = merge(data, {"wire": {"url": url}})
    data.pop("inherit", None)
    return build(Preset, {**data, "name": data.get("name") or name}, where=where)


def merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with ``override`` merged in deeply; None removes a key."""
    merged = dict(base)
    for key, value in override.items():
        old = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(old, Mapping):
            merged[key] = merge(old, value)
        else:
            merged[key] = value
    return merged


def _read(name: str, children: tuple[str, ...] = ()) -> tuple[dict[str, Any], str]:
    path = _path(name)
    data = read_yaml(path)
    parent = data.get("inherit")
    if parent is None:
        return data, str(path)
    if not isinstance(parent, str) or parent in children or len(children) >= _MOST_PARENTS:
        raise SettingsError(f"{path}: inherit {parent!r} is no preset, or leads back here")
    base, _ = _read(parent, (*children, name))
    base.pop("name", None)
    return merge(base, data), str(path)


def _path(name: str) -> Path:
    if name.endswith((".yml", ".yaml")):
        return Path(name)
    known = preset_names()
    if name not in known:
        raise SettingsError(f"no policy preset {name!r}; {nearest(name, known)}")
    return presets_dir() / f"{name}.yml"


def _check_keys(override: Mapping[str, Any], *, where: str) -> None:
    """Refuse a misspelt top-level key in the override's own name, not in the preset's."""
    known = {*Preset.__dataclass_fields__, "inherit"} - {"name"}
    for key in override:
        if key not in known:
            raise SettingsError(f"{where}: unknown key {key!r}; {nearest(str(key), known)}")
