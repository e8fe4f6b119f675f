"""Prints a benchmark's rows as a table and writes them as JSON with machine and versions."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

Row = Mapping[str, Any]

_PACKAGES = ("interlock", "numpy", "websockets", "msgpack", "mujoco", "dora-rs", "pyarrow")


def percentiles(name: str, seconds: Iterable[float], **more: Any) -> dict[str, Any]:
    """Return a row of p50, p99 and rate.

    Args:
        name: Name of the row.
        seconds: How long each repetition took, in s.
        more: Further columns.
    """
    times = np.fromiter(seconds, np.float64)
    return {
        "name": name,
        "p50_ms": round(1e3 * float(np.percentile(times, 50)), 4),
        "p99_ms": round(1e3 * float(np.percentile(times, 99)), 4),
        "per_s": round(float(len(times) / times.sum()), 1),
        "n": len(times),
        **more,
    }


def finish(
    rows: Sequence[Row],
    *,
    json_file: Path | None,
    seed: int | None = None,
    packages: Sequence[str] = (),
) -> None:
    """Print the table; write ``{"machine", "versions", "seed", "rows"}`` if a file is given.

    Args:
        rows: One map per row; ``name`` first. A row that could not be measured has a ``reason``.
        json_file: Where to write.
        seed: Seed of everything random.
        packages: Packages whose versions matter, besides the usual ones.
    """
    for line in table(rows):
        click.echo(line)
    if json_file is None:
        return
    report = {
        "machine": machine(),
        "versions": versions(packages),
        "seed": seed,
        "rows": list(rows),
    }
    json_file.parent.mkdir(parents=True, exist_ok=True)
    json_file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    click.echo(f"written: {json_file}", err=True)


def table(rows: Sequence[Row]) -> list[str]:
    """Return rows as aligned lines, columns in the order they first appear."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_shown(row.get(column, "")) for column in columns] for row in rows]
    widths = [
        max(len(c) for c in (column, *(row[i] for row in cells)))
        for i, column in enumerate(columns)
    ]
    lines = [columns, *cells]
    return [
        "  ".join(
            text.ljust(width) if i == 0 else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    return {
        "system": platform.platform(),
        "python": platform.python_version(),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_gb": _memory_gb(),
        "load": [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else [],
    }


def versions(packages: Sequence[str] = ()) -> dict[str, str]:
    """Return package -> version for what is installed, and our commit."""
    found = {"commit": _commit()}
    for name in dict.fromkeys((*_PACKAGES, *packages)):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json FILE`` to a benchmark's command."""
    return click.option(
        "--json",
        "json_file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Write machine, versions, seed and rows to this file.",
    )(function)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()


def _memory_gb() -> float:
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0.0
    return round(pages * size / 2**30, 1)


def _commit() -> str:
    root = Path(__file__).resolve().parents[1]
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            cwd=root,
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()
