"""How a test server misbehaves, by flag; each is a fault seen on real servers."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Dtype = Literal["float32", "bfloat16", "float16", "float64", ">f4", "int64", "list"]

TRACEBACK = """Traceback (most recent call last):
  File "/srv/models/secret_path/policy.py", line 88, in infer
    image = obs["observation/wrist_image"]
KeyError: 'observation/wrist_image'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """What goes wrong, and at which request (from 0).

    Attributes:
        slow_first_s: Extra time of the first request, in s; nothing else is served meanwhile.
        late_s: Extra time of request ``at``, in s.
        at: The request that ``late_s``, ``error``, ``closes``, ``nan`` and ``garbage`` befall.
        wrong_width: Columns sent instead of the right number; 0 for no fault.
        dtype: How numbers are written.
        nan: A NaN in the middle of the chunk.
        error: The server reports an error, as text with its traceback.
        closes: The connection is closed instead of answering.
        garbage: Bytes that are no message.
        huge_bytes: A message of this size; 0 for no fault.
    """

    slow_first_s: float = 0.0
    late_s: float = 0.0
    at: int = 0
    wrong_width: int = 0
    dtype: Dtype = "float32"
    nan: bool = False
    error: bool = False
    closes: bool = False
    garbage: bool = False
    huge_bytes: int = 0

    def delay_s(self, request: int) -> float:
        """Return how long to wait before answering, in s."""
        slow = self.slow_first_s if request == 0 else 0.0
        return slow + (self.late_s if request == self.at else 0.0)

    def befalls(self, fault: Literal["error", "closes", "garbage", "nan"], request: int) -> bool:
        """Return whether a fault befalls this request."""
        return bool(getattr(self, fault)) and request == self.at

    def actions(self, chunk: NDArray[np.float32], request: int, *, json: bool) -> Any:
        """Return the chunk as this server writes it."""
        if self.wrong_width:
            chunk = np.resize(chunk, (len(chunk), self.wrong_width))
        if self.befalls("nan", request):
            chunk = chunk.copy()
            chunk[len(chunk) // 2, -1] = np.nan
        if self.dtype == "list":
            return chunk.tolist()
        if self.dtype == "bfloat16":
            return _bfloat16(chunk, json=json)
        return chunk.astype(self.dtype)


def _bfloat16(chunk: NDArray[np.float32], *, json: bool) -> dict[str, Any]:
    halves = (chunk.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    if json:
        text = base64.b64encode(halves).decode()
        return {"__numpy__": text, "dtype": "bfloat16", "shape": list(chunk.shape)}
    return {"__ndarray__": True, "data": halves, "dtype": "bfloat16", "shape": list(chunk.shape)}
