"""Write a trial's folder: configuration with provenance first, the signed result last."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from interlock.trials.plan import Plan, fingerprint, protocol
from interlock.trials.verdict import digest, file_digests, sign, signing_key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from interlock.trials.task import Instance

PACKAGES = ("interlock", "mujoco", "numpy", "dora-rs")


def provenance(plan: Plan, instance: Instance) -> dict[str, Any]:
    """Return what must be known to repeat the trial."""
    layout = json.dumps(asdict(instance.scenario), sort_keys=True)
    return {
        "versions": {name: _version(name) for name in PACKAGES} | {"python": _python()},
        "platform": " ".join(os.uname()[i] for i in (0, 2, 4)),
        "layout_sha256": digest(layout.encode()),
        "policy_config_sha256": digest(plan.policy_text().encode()) if plan.policy_config else None,
        "gate": plan.gate or None,
    }


def write_config(folder: Path, plan: Plan, instance: Instance, extra: Mapping[str, Any]) -> None:
    """Write ``config.json`` and the prompt's task; nothing that the result repeats."""
    data = protocol(plan)
    config = {
        "trial": folder.name,
        "key": plan.key,
        "task": plan.task.id,
        "suite": plan.task.suite,
        "world": plan.task.world,
        "harness": plan.harness,
        "model": plan.model,
        "seed": plan.seed,
        "epoch": plan.epoch,
        "attempt": plan.attempt,
        "prior_learnings": plan.prior_learnings,
        "options": plan.options,
        "video": asdict(plan.video) if plan.video else None,
        "protocol": data,
        "fingerprint": fingerprint(data),
        "provenance": provenance(plan, instance),
        "task_file": asdict(plan.task),
        **extra,
    }
    write_json(folder / "config.json", config)


def write_result(folder: Path, result: Mapping[str, Any]) -> dict[str, Any]:
    """Sign the result together with the digests of every file, and write it."""
    signed = sign({**result, "files": file_digests(folder)}, signing_key())
    write_json(folder / "result.json", signed)
    return signed


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write JSON whole or not at all, so that a kill leaves no half file."""
    temporary = path.with_suffix(".part")
    temporary.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _python() -> str:
    return platform.python_version()
