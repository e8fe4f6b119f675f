"""Read trial folders back: each with its configuration, and whether its signature holds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlock.trials.errors import VerdictError
from interlock.trials.sweep import FAILED_FOLDER
from interlock.trials.verdict import verify_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One trial as its folder tells it.

    Attributes:
        folder: Where it lies.
        config: ``config.json``.
        result: ``result.json``.
        distrust: Why its verdict cannot be believed; "" if it can.
    """

    folder: Path
    config: Mapping[str, Any]
    result: Mapping[str, Any]
    distrust: str = ""

    @property
    def key(self) -> str:
        """Return task, seed and epoch."""
        return str(self.result["key"])

    @property
    def label(self) -> str:
        """Return harness and model."""
        model = self.config["model"]
        return f"{self.config['harness']}" + (f" {model}" if model else "")

    @property
    def scored(self) -> bool:
        """Whether it counts: no infrastructure failure, and a verdict that verifies."""
        return self.result["reward"] is not None and not self.distrust

    @property
    def solved(self) -> bool:
        """Whether it was solved."""
        return self.scored and float(self.result["reward"]) == 1.0


def read_trials(folders: Iterable[Path]) -> list[Trial]:
    """Return every finished trial below the folders, ordered by id, not by finishing time."""
    paths = {path.parent for folder in folders for path in folder.rglob("result.json")}
    kept = sorted(path for path in paths if FAILED_FOLDER not in path.parts)
    trials = [_read(path) for path in kept]
    return sorted(trials, key=lambda trial: (trial.label, trial.key, str(trial.folder)))


def _read(folder: Path) -> Trial:
    distrust = ""
    try:
        verify_folder(folder)
    except VerdictError as error:
        distrust = str(error)
    return Trial(
        folder=folder,
        config=json.loads((folder / "config.json").read_text(encoding="utf-8")),
        result=json.loads((folder / "result.json").read_text(encoding="utf-8")),
        distrust=distrust,
    )
