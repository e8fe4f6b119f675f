"""The model gateway of one trial: its own key, its spend cap, the provider's key kept outside."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlock.trials.errors import PreflightError
from interlock.trials.providers import (
    PROVIDERS,
    base_url,
    find_price,
    provider_key,
    split_model,
)
from interlock.trials.retry import RetryPolicy
from interlock.trials.spend import SpendCap

if TYPE_CHECKING:
    from pathlib import Path

    from interlock.trials.harness import Launcher
    from interlock.trials.plan import Plan

DEFAULT_CAP_USD = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """Where requests go: base URL, the provider's key and its header, the model's name there."""

    url: str
    key: str
    key_header: str
    model: str
    max_images: int


def needs_gateway(plan: Plan, harness: Launcher) -> bool:
    """Return whether the agent calls a model."""
    return bool(harness.wire)


def preflight_gateway(plan: Plan, harness: Launcher) -> None:
    """Check model, provider, credentials and price.

    Raises:
        PreflightError: The first thing that is missing, and the way out.
    """
    provider, _ = split_model(plan.model)
    base_url(provider, harness.wire)
    provider_key(provider)
    if spend_cap_usd(plan) and find_price(plan.model) is None:
        raise PreflightError(
            f"no price is known for {plan.model!r}, so a spend cap cannot hold. Add it to a price "
            "list (INTERLOCK_PRICES=FILE), or set INTERLOCK_SPEND_CAP_USD=0 for no cap"
        )


def spend_cap_usd(plan: Plan) -> float:
    """Return the most a trial may spend, in USD; 0 for no cap.

    Raises:
        PreflightError: If it is not a number of 0 or more.
    """
    text = plan.options.get("spend_cap") or os.environ.get("INTERLOCK_SPEND_CAP_USD")
    if text is None:
        return DEFAULT_CAP_USD
    try:
        cap = float(text)
    except ValueError:
        cap = -1.0
    if not 0.0 <= cap < 1e6:
        raise PreflightError(f"the spend cap must be 0 or more USD, got {text!r}")
    return cap


class Gateway:
    """A running gateway."""

    def __init__(self, upstream: Upstream, cap: SpendCap, socket: Path, log: Path) -> None:
        from interlock.trials.gateway_server import GatewayServer

        self.key = f"sk-interlock-{secrets.token_hex(16)}"
        self.model = upstream.model
        self.socket = socket
        self.cap = cap
        self._server = GatewayServer(
            upstream, cap, socket=socket, key=self.key, log=log, retry=RetryPolicy()
        )

    @property
    def cap_reached(self) -> bool:
        """Whether a call was refused because it did not fit under the cap."""
        return self.cap.refused > 0

    @property
    def every_call_failed(self) -> bool:
        """Whether calls were made and none succeeded: the provider's fault, not the model's."""
        return self._server.failed > 0 and self._server.succeeded == 0

    @property
    def last_error(self) -> str:
        """What the provider said last."""
        return self._server.last_error

    def usage(self) -> dict[str, Any]:
        """Return tokens and money, as settled here."""
        return {
            "input_tokens": self.cap.input_tokens,
            "output_tokens": self.cap.output_tokens,
            "cost_usd": round(self.cap.spent_usd, 6) if self.cap.price else None,
            "calls": self._server.succeeded,
            "failed_calls": self._server.failed,
        }

    def close(self) -> None:
        """Stop serving; the trial's key is void from now on."""
        self._server.close()


def open_gateway(plan: Plan, harness: Launcher, scratch: Path, folder: Path) -> Gateway:
    """Start the gateway of a trial."""
    provider, name = split_model(plan.model)
    price = find_price(plan.model)
    upstream = Upstream(
        url=base_url(provider, harness.wire),
        key=provider_key(provider),
        key_header=PROVIDERS[provider].key_header if harness.wire != "openai" else "Authorization",
        model=name,
        max_images=20 if price is None or price.images else 0,
    )
    cap = SpendCap(cap_usd=spend_cap_usd(plan), price=price)
    return Gateway(upstream, cap, scratch / "gateway.sock", folder / "gateway.jsonl")
