"""Where a recording goes: a folder, and a dataset repository of the hub if one is named."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.operators.lerobot_dataset.layout import VERSION, DatasetError

if TYPE_CHECKING:
    from collections.abc import Mapping

_FALSE = ("", "0", "false", "no")


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where datasets are put.

    Attributes:
        folder: Parent of the datasets.
        repository: ``namespace/name`` on the hub, or None.
        private: Whether the repository is private.
    """

    folder: Path
    repository: str | None = None
    private: bool = True

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Destination:
        """Read RECORD_DIR, HF_REPO and HF_PRIVATE."""
        return cls(
            folder=Path(environment.get("RECORD_DIR") or "data"),
            repository=environment.get("HF_REPO") or None,
            private=environment.get("HF_PRIVATE", "1").strip().lower() not in _FALSE,
        )

    def new_dataset(self, robot_type: str | None, *, now_s: float, tag: str) -> Path:
        """Return a folder for a new dataset, named after robot, time and tag."""
        stamp = time.strftime("%Y%m%d_%H%M%S", time.gmtime(now_s))
        name = "".join(c if c.isalnum() or c in "-_" else "_" for c in robot_type or "robot")
        return self.folder / f"{name}_{stamp}_{tag}"


def push(root: Path, repository: str, *, private: bool, api: Any = None) -> str:
    """Upload a dataset and mark its format version, as LeRobot looks for it.

    Args:
        root: The dataset.
        repository: ``namespace/name``; a namespace alone takes the folder's name.
        private: Whether a new repository is private.
        api: A ``huggingface_hub.HfApi``; None makes one from the environment.

    Returns:
        The address of the repository.

    Raises:
        DatasetError: If huggingface_hub is not installed, or the hub refuses.
    """
    if api is None:
        try:
            from huggingface_hub import HfApi
        except ImportError as error:
            raise DatasetError(
                "pushing needs huggingface_hub; install it, or unset HF_REPO"
            ) from error
        api = HfApi()
    name = repository if "/" in repository else f"{repository}/{root.name}"
    try:
        url = api.create_repo(name, repo_type="dataset", private=private, exist_ok=True)
        api.upload_folder(
            repo_id=name,
            folder_path=str(root),
            repo_type="dataset",
            ignore_patterns=[".recording/**", "broken/**", "**/.*.part"],
        )
        api.create_tag(name, tag=VERSION, repo_type="dataset", exist_ok=True)
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise DatasetError(f"the hub did not take {name}: {reason}") from error
    return str(url)
