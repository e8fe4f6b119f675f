"""inprocess: a model object in this process, called in a thread of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
from collections.abc import Mapping
from typing import Any, Protocol

from interlock.policies.vla.errors import PolicyConnectionError, PolicyServerError, one_line
from interlock.policies.vla.reply import chunk, member
from interlock.policies.vla.wire import Reply, WireSettings


class Model(Protocol):
    """Anything that turns an observation into a chunk of actions."""

    def infer(self, observation: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a map that holds the chunk, shape (horizon, width), under the actions key."""
        ...


class InprocessWire:
    """Calls a model one observation at a time.

    A call that runs over its budget can't be interrupted: its thread is left to finish alone, its
    answer goes nowhere, and the next connection gets a thread of its own.
    """

    def __init__(
        self, settings: WireSettings, token: str | None = None, model: Model | None = None
    ) -> None:
        self._settings = settings
        self._model = model
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None

    async def connect(self) -> Mapping[str, Any]:
        """Make the model from ``url: module:name`` unless one was given; return its metadata."""
        if self._model is None:
            self._model = _load(self._settings.url)
        self._pool = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="model")
        metadata = getattr(self._model, "metadata", {})
        return metadata if isinstance(metadata, Mapping) else {}

    async def reset(self, episode: str) -> None:
        """Call the model's ``reset()``, if it has one."""
        reset = getattr(self._model, "reset", None)
        if callable(reset):
            await self._call(reset)

    async def infer(self, observation: Mapping[str, Any]) -> Reply:
        """Call the model's ``infer(observation)``."""
        if self._model is None:
            raise PolicyConnectionError("no model; connect first")
        answer = await self._call(self._model.infer, observation)
        key = self._settings.actions_key
        return Reply(actions=chunk(member(answer, key), field=key))

    async def close(self) -> None:
        """Let go of the thread."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    async def _call(self, function: Any, *args: Any) -> Any:
        if self._pool is None:
            raise PolicyConnectionError("no model; connect first")
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, function, *args)
        except Exception as error:
            # Whatever a stranger's model raises is that model's error, not ours.
            said = one_line(f"{type(error).__name__}: {error}")
            raise PolicyServerError(f"the model {self._settings.url} raised {said!r}") from error


def _load(name: str) -> Model:
    module, _, attribute = name.partition(":")
    try:
        made = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise PolicyServerError(
            f"wire.url {name!r}: can't import it ({error}); write `module:name`"
        ) from error
    model: Model = made() if isinstance(made, type) else made
    return model
