"""What one trial is to be: task, harness, model, seed; and what makes two comparable."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from interlock.trials.errors import PreflightError

if TYPE_CHECKING:
    from pathlib import Path

    from interlock.trials.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoOptions:
    """Size and rate of the video; ``None`` in a plan means no video."""

    width: int = 256
    height: int = 192
    fps: int = 10

    def __post_init__(self) -> None:
        if not (16 <= self.width <= 2048 and 16 <= self.height <= 2048):
            raise ValueError(f"video size must lie in 16 to 2048, got {self.width}x{self.height}")
        if not 1 <= self.fps <= 100:
            raise ValueError(f"video rate must lie in 1 to 100 Hz, got {self.fps}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One trial before it starts.

    Attributes:
        task: The task, with an override of its time limit applied.
        harness: Name of the harness.
        out: Folder that gets the trial's folder.
        model: Model, with its provider in front where a gateway is used.
        seed: Seed of the scenario.
        epoch: Which repetition of the same task and seed.
        attempt: Which try, after infrastructure failures.
        interface: How the agent reaches the robot.
        extra_instruction: Text added to the prompt.
        prior_learnings: Text from earlier trials added to the prompt.
        policy_config: File with the settings of a policy, or a script or program.
        video: Size and rate, or None.
        sandbox: Whether agents run in one.
        allow_hosts: Hosts that an agent may reach besides the gateway, ``host`` or ``host:port``.
    """

    task: Task
    harness: str
    out: Path
    model: str = ""
    seed: int = 0
    epoch: int = 0
    attempt: int = 0
    interface: Literal["cli", "mcp", "both"] = "cli"
    extra_instruction: str = ""
    prior_learnings: str = ""
    policy_config: Path | None = None
    video: VideoOptions | None = None
    sandbox: bool = True
    allow_hosts: tuple[str, ...] = ()
    gate: str = ""
    options: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**31:
            raise PreflightError(f"seed must lie in 0 to 2**31 - 1, got {self.seed}")
        if self.epoch < 0:
            raise PreflightError(f"epoch must be 0 or more, got {self.epoch}")

    @property
    def key(self) -> str:
        """Return the trial id that runs of other models share: task, seed, epoch."""
        return f"{self.task.id}#{self.seed}.{self.epoch}"

    def name(self) -> str:
        """Return the folder's name: one per key, harness and model."""
        text = json.dumps([self.key, self.harness, self.model])
        short = hashlib.sha256(text.encode()).hexdigest()[:6]
        return f"{self.task.id}__{self.harness}__s{self.seed}e{self.epoch}-{short}"

    def policy_text(self) -> str:
        """Return the content of the policy configuration, or ""."""
        if self.policy_config is None:
            return ""
        if not self.policy_config.suffix and not self.policy_config.exists():
            return str(self.policy_config)  # the name of a preset
        try:
            return self.policy_config.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PreflightError(f"cannot read --policy-config: {error}") from error


def with_timeout(task: Task, timeout_s: float | None) -> Task:
    """Return the task with another time limit.

    Raises:
        PreflightError: If it is not a positive finite time.
    """
    if timeout_s is None:
        return task
    if not (math.isfinite(timeout_s) and 0 < timeout_s <= 86_400):
        raise PreflightError(f"--timeout must lie in 0 to 86400 s, got {timeout_s}")
    return dataclasses.replace(task, timeout_s=timeout_s)


def protocol(plan: Plan) -> dict[str, Any]:
    """Return everything that must agree before two results may be compared."""
    task = dataclasses.asdict(plan.task)
    text = json.dumps(task, sort_keys=True, default=str)
    return {
        "task": hashlib.sha256(text.encode()).hexdigest()[:16],
        "max_steps": plan.task.max_steps,
        "timeout_s": plan.task.timeout_s,
        "judge": plan.task.judge,
        "view": plan.task.view,
        "thinking": plan.task.thinking,
        "interface": plan.interface,
        "extra_instruction": plan.extra_instruction,
        "prior_learnings": _short(plan.prior_learnings),
        "policy_config": _short(plan.policy_text()),
        "gate": plan.gate,
        "allow_hosts": sorted(plan.allow_hosts),
    }


def fingerprint(data: dict[str, Any]) -> str:
    """Return a short digest of a protocol."""
    text = json.dumps(data, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text else ""
