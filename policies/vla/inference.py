"""What one inference cost, part by part, as the trace keeps it and `interlock profile` shows it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlock.messages import Event

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlock.policies.runtime import Runtime
    from interlock.policies.vla.client import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """One answered question.

    Attributes:
        observation: Number of the observation that it answers.
        observed_ns: When that observation was made.
        warmup: True for the first of a connection, kept apart.
        preprocess_ms: Building the observation, in ms.
        roundtrip_ms: From sending to the parsed reply, in ms.
        server_ms: What the server says about its own time, by its own names, in ms.
        postprocess_ms: From the parsed reply to absolute targets, in ms.
    """

    observation: int
    observed_ns: int
    warmup: bool
    preprocess_ms: float
    roundtrip_ms: float
    server_ms: Mapping[str, float]
    postprocess_ms: float

    @classmethod
    def of(cls, answer: Answer, observed_ns: int) -> Inference:
        """Return what an answer cost."""
        return cls(
            observation=answer.observation_id,
            observed_ns=observed_ns,
            warmup=answer.warmup,
            preprocess_ms=1e3 * answer.preprocess_s,
            roundtrip_ms=1e3 * answer.roundtrip_s,
            server_ms=dict(answer.reply.timing_ms),
            postprocess_ms=1e3 * answer.postprocess_s,
        )

    def network_ms(self) -> float | None:
        """Return what the server's own time leaves of the round trip; None if it says none."""
        said = server_total_ms(self.server_ms)
        return None if said is None else max(0.0, self.roundtrip_ms - said)

    def to_json(self, executed_ns: int | None) -> dict[str, Any]:
        """Return it for the trace.

        Args:
            executed_ns: When the first command that rests on it takes effect; None if none did.
        """
        age_ms = None if executed_ns is None else (executed_ns - self.observed_ns) / 1e6
        network_ms = self.network_ms()
        return {
            "observation": self.observation,
            "warmup": self.warmup,
            "preprocess_ms": round(self.preprocess_ms, 3),
            "roundtrip_ms": round(self.roundtrip_ms, 3),
            "network_ms": None if network_ms is None else round(network_ms, 3),
            "server_ms": {name: round(ms, 3) for name, ms in sorted(self.server_ms.items())},
            "postprocess_ms": round(self.postprocess_ms, 3),
            "age_ms": None if age_ms is None else round(age_ms, 3),
        }


def server_total_ms(timing_ms: Mapping[str, float]) -> float | None:
    """Return the server's own time for this request, in ms; None where it says nothing.

    Servers time parts inside one another (the model within the request) and the request before
    (``prev_...``): the longest that is about this request holds the others.
    """
    own = [ms for name, ms in timing_ms.items() if "prev" not in name and ms >= 0.0]
    return max(own, default=None)


def report(
    runtime: Runtime, inferences: list[Inference], executed: int | None, start_ns: int
) -> None:
    """Put inferences into the trace: those up to the one executed now, or all of them."""
    while inferences and (executed is None or inferences[0].observation <= executed):
        one = inferences.pop(0)
        data = one.to_json(start_ns if one.observation == executed else None)
        what = "warm-up inference" if one.warmup else "inference"
        text = f"{what}: {one.roundtrip_ms:.1f} ms round trip"
        runtime.send("event", Event(kind="inference", text=text, data=json.dumps(data)))
