"""The Gate configuration that a node's settings name: a shipped one, or a file."""

from __future__ import annotations

from pathlib import Path

from interlock.messages.errors import SettingsError, nearest

#: In a checkout and in a wheel alike, configs/ lies beside nodes/.
_SHIPPED = Path(__file__).resolve().parent.parent / "configs" / "gate"


def gate_config_path(name: str, folder: Path) -> Path:
    """Return the file of a configuration.

    Args:
        name: ``default`` and the like, or the path of a YAML file.
        folder: Where a relative path starts.

    Raises:
        SettingsError: If no configuration of that name ships.
    """
    if name.endswith((".yml", ".yaml")):
        return folder / name
    known = {path.stem: path for path in _SHIPPED.glob("*.yml")}
    if name not in known:
        raise SettingsError(f"no shipped Gate configuration {name!r}; {nearest(name, known)}")
    return known[name]
