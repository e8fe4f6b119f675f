"""Model providers by prefix: where they listen, how they are paid, where the key comes from.

A model is written ``provider/model``. INTERLOCK_<PROVIDER>_URL replaces a provider's address.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from interlock import configs
from interlock.messages.errors import nearest
from interlock.messages.settings import build, read_yaml
from interlock.trials.errors import PreflightError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One provider.

    Attributes:
        urls: Wire -> base URL, without the part of the path that the wire itself brings.
        key_variables: Environment variables that may hold the key, in order.
        key_header: Header that carries the key; a bearer token when ``Authorization``.
        free: Whether it is our own server, which costs nothing.
    """

    urls: Mapping[str, str]
    key_variables: tuple[str, ...]
    key_header: str = "Authorization"
    free: bool = False


PROVIDERS = {
    "anthropic": Provider(
        urls={"anthropic": "https://api.anthropic.com"},
        key_variables=("ANTHROPIC_API_KEY",),
        key_header="x-api-key",
    ),
    "openai": Provider(
        urls={"openai": "https://api.openai.com", "responses": "https://api.openai.com"},
        key_variables=("OPENAI_API_KEY",),
    ),
    "openrouter": Provider(
        urls={
            "openai": "https://openrouter.ai/api",
            "anthropic": "https://openrouter.ai/api",
            "responses": "https://openrouter.ai/api",
        },
        key_variables=("OPENROUTER_API_KEY",),
    ),
    "baseten": Provider(
        urls={"openai": "https://inference.baseten.co"}, key_variables=("BASETEN_API_KEY",)
    ),
    "gemini": Provider(
        urls={
            "gemini": "https://generativelanguage.googleapis.com",
            "openai": "https://generativelanguage.googleapis.com/v1beta/openai",
        },
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        key_header="x-goog-api-key",
    ),
    "glm": Provider(
        urls={
            "openai": "https://api.z.ai/api/paas/v4",
            "anthropic": "https://api.z.ai/api/anthropic",
        },
        key_variables=("ZAI_API_KEY", "GLM_API_KEY"),
    ),
    # The fine-tuned model of show-harness; any server of chat completions.
    "show-harness": Provider(
        urls={"openai": ""}, key_variables=("INTERLOCK_SHOW_HARNESS_TOKEN",), free=True
    ),
    "vllm": Provider(
        urls={"openai": "", "responses": "", "anthropic": ""},
        key_variables=("VLLM_API_KEY",),
        free=True,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """USD per million tokens in and out, and whether the model takes pictures."""

    input: float
    output: float
    images: bool = True

    def __post_init__(self) -> None:
        if not (0 <= self.input < 1e4 and 0 <= self.output < 1e4):
            raise ValueError(f"prices must lie in 0 to 10000 USD, got {self.input}, {self.output}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """Prices by full model name, and the day they were checked."""

    checked: str
    models: dict[str, Price]


def split_model(model: str) -> tuple[str, str]:
    """Return provider and the provider's own name of a model.

    Raises:
        PreflightError: If the provider is missing or unknown.
    """
    provider, slash, name = model.partition("/")
    if not slash or not name:
        raise PreflightError(
            f"model {model!r} has no provider in front; write for example anthropic/{model or 'x'}"
        )
    if provider not in PROVIDERS:
        raise PreflightError(f"no provider {provider!r}; {nearest(provider, PROVIDERS)}")
    return provider, name


def base_url(provider: str, wire: str) -> str:
    """Return where a provider serves a wire.

    Raises:
        PreflightError: If it does not, or has no address.
    """
    urls = PROVIDERS[provider].urls
    if wire not in urls:
        serving = sorted(name for name, p in PROVIDERS.items() if wire in p.urls)
        raise PreflightError(
            f"provider {provider!r} does not speak the {wire!r} wire of this harness; "
            f"use one of {', '.join(serving)}"
        )
    variable = f"INTERLOCK_{provider.upper().replace('-', '_')}_URL"
    url = os.environ.get(variable) or urls[wire]
    if not url:
        raise PreflightError(f"provider {provider!r} has no address; set {variable}")
    return url.rstrip("/")


def provider_key(provider: str) -> str:
    """Return the provider's key from the environment.

    Raises:
        PreflightError: If there is none and the provider needs one.
    """
    variables = PROVIDERS[provider].key_variables
    for variable in variables:
        if key := os.environ.get(variable):
            return key
    if PROVIDERS[provider].free:
        return ""
    raise PreflightError(f"no credentials for {provider!r}: set {' or '.join(variables)}")


def find_price(model: str) -> Price | None:
    """Return a model's price: INTERLOCK_PRICES, else our list; None if it is in neither."""
    provider, _ = split_model(model)
    if PROVIDERS[provider].free:
        return Price(input=0.0, output=0.0)
    bundled = Path(configs.__file__).parent / "prices.yml"
    path = Path(os.environ.get("INTERLOCK_PRICES") or bundled)
    prices = build(PriceList, read_yaml(path), where=str(path))
    return prices.models.get(model)
