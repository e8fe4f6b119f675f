"""A spend cap that reserves the most a call can cost before it is made."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.trials.providers import Price

IMAGE_TOKENS = 3000
OUTPUT_TOKENS = 16_384


@dataclass(slots=True, kw_only=True)
class SpendCap:
    """Money spent and reserved, in USD; a cap of 0 means no cap.

    Attributes:
        cap_usd: The most that may be spent.
        price: Price of the model; None is acceptable only without a cap.
        spent_usd: Settled so far.
        reserved_usd: Held for calls on their way.
        refused: How many calls did not fit.
    """

    cap_usd: float
    price: Price | None
    spent_usd: float = 0.0
    reserved_usd: float = 0.0
    refused: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    _lock: Any = field(default_factory=threading.Lock)

    def reserve(self, input_tokens: int, output_tokens: int) -> float | None:
        """Hold the most a call can cost; None if it does not fit under the cap."""
        cost = self.cost(input_tokens, output_tokens)
        with self._lock:
            if self.cap_usd and not self.spent_usd + self.reserved_usd + cost <= self.cap_usd:
                self.refused += 1
                return None
            self.reserved_usd += cost
            return cost

    def settle(self, reserved_usd: float, usage: tuple[int, int] | None) -> None:
        """Replace a reservation by what was used; without a report, all of it counts."""
        with self._lock:
            self.reserved_usd -= reserved_usd
            if usage is None:
                self.spent_usd += reserved_usd
                return
            self.input_tokens += usage[0]
            self.output_tokens += usage[1]
            self.spent_usd += self.cost(*usage)

    def release(self, reserved_usd: float) -> None:
        """Give back the reservation of a call that the provider refused."""
        with self._lock:
            self.reserved_usd -= reserved_usd

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Return what tokens cost, in USD."""
        if self.price is None:
            return 0.0
        return (input_tokens * self.price.input + output_tokens * self.price.output) / 1e6


def most_input_tokens(body: Any) -> int:
    """Return a bound on a request's input: a token is at least a byte, a picture is capped."""
    if isinstance(body, dict):
        if _is_picture(body):
            return IMAGE_TOKENS
        return sum(len(key) + 4 + most_input_tokens(value) for key, value in body.items())
    if isinstance(body, list):
        return sum(most_input_tokens(item) for item in body)
    if isinstance(body, str):
        return IMAGE_TOKENS if body.startswith("data:image/") else len(body.encode())
    return 8


def read_usage(data: Any) -> tuple[int, int] | None:
    """Return tokens in and out that a provider reports, in any of the four wires."""
    if not isinstance(data, dict):
        return None
    for inner in ("message", "response"):
        if found := read_usage(data.get(inner)):
            return found
    usage = data.get("usage") or data.get("usageMetadata")
    if not isinstance(usage, dict):
        return None
    names_in = ("prompt_tokens", "input_tokens", "promptTokenCount")
    names_out = ("completion_tokens", "output_tokens", "candidatesTokenCount")
    cached = ("cache_read_input_tokens", "cache_creation_input_tokens")
    tokens_in = _first(usage, names_in) + sum(_first(usage, (name,)) for name in cached)
    return tokens_in, _first(usage, names_out) + _first(usage, ("thoughtsTokenCount",))


def _first(usage: dict[str, Any], names: tuple[str, ...]) -> int:
    return next((int(usage[name]) for name in names if isinstance(usage.get(name), int)), 0)


def _is_picture(body: dict[str, Any]) -> bool:
    source = body.get("source")
    based = isinstance(source, dict) and source.get("type") == "base64"
    return based or "inlineData" in body or "inline_data" in body
