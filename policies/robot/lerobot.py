"""A LeRobot policy as a `Model`; torch and lerobot are needed only where it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.policies.robot.model import Model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class LeRobotModel(Model):
    """Wraps a policy with ``predict_action_chunk`` and its two processors.

    Args:
        policy: The policy; its ``reset`` is called at the start of each episode.
        pre: From a batch of tensors to the policy's input; None passes it through.
        post: From the policy's chunk to the robot's units; None passes it through.
        device: Where the tensors go.
    """

    batchable = True

    def __init__(
        self,
        policy: Any,
        pre: Callable[[dict[str, Any]], Any] | None = None,
        post: Callable[[Any], Any] | None = None,
        *,
        device: str | None = None,
    ) -> None:
        self._policy = policy
        self._pre = pre
        self._post = post
        self._device = device

    def infer(self, batch: Mapping[str, Any]) -> Any:
        """Return chunks, shape (N, T, A)."""
        import torch

        tensors = {key: self._tensor(value) for key, value in batch.items()}
        with torch.inference_mode():
            ready = self._pre(tensors) if self._pre else tensors
            chunk = self._policy.predict_action_chunk(ready)
            return self._post(chunk) if self._post else chunk

    def reset(self) -> None:
        """Reset the policy."""
        self._policy.reset()

    def _tensor(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        import torch

        # Arrays from the wire are read-only, which torch does not support.
        writable = value if value.flags.writeable else value.copy()
        tensor = torch.from_numpy(writable)
        return tensor.to(self._device) if self._device else tensor
