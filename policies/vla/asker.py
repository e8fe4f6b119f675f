"""Asks a policy server from a thread of its own, so that whoever moves the robot never waits."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from concurrent.futures import CancelledError, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlock.policies.vla.client import Answer
from interlock.policies.vla.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from concurrent.futures import Future

    from interlock.policies.vla.client import PolicyClient
    from interlock.policies.vla.wire import Reply

#: How long ending the thread may take, in s.
_CLOSE_S = 5.0
#: How often a waiting run looks whether it has ended, in s.
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question under way.

    Attributes:
        future: Its answer or its error.
        ready_ns: In lockstep, when the answer may be used; None outside.
    """

    future: Future[Any]
    ready_ns: int | None


class Asker:
    """One question at a time; ``poll`` says whether it has been answered.

    Args:
        make_client: Makes the client; called in the thread.
        lockstep_ns: In lockstep the answer is waited for, and given this much simulated time
            after the question, so that runs repeat; None outside.
        ended: Whether nobody wants the answer any more; asked while it is waited for.
    """

    def __init__(
        self,
        make_client: Callable[[], PolicyClient],
        *,
        lockstep_ns: int | None = None,
        ended: Callable[[], bool] = lambda: False,
    ) -> None:
        self._make_client = make_client
        self._lockstep_ns = lockstep_ns
        self._ended = ended
        self._client: PolicyClient | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="asker")
        self._thread.start()
        self._asked: Asked | None = None

    @property
    def busy(self) -> bool:
        """Whether a question is under way."""
        return self._asked is not None

    @property
    def warmup_s(self) -> tuple[float, ...]:
        """How long the first answer of each connection really took, in s, also in lockstep."""
        return () if self._client is None else tuple(self._client.counts.warmup_s)

    def connect(self, episode: str, now_ns: int) -> None:
        """Begin to connect and reset; the answer is the server's metadata."""
        self._ask(self._connect(episode), now_ns)

    def infer(
        self,
        build: Callable[[], Mapping[str, Any]],
        number: int,
        now_ns: int,
        finish: Callable[[Reply], Any] = lambda _: None,
    ) -> None:
        """Begin one inference.

        Args:
            build: Makes the observation; called in the thread.
            number: Number of the observation.
            now_ns: The time.
            finish: Makes the answer's chunk of the reply; called in the thread.
        """
        self._ask(self._infer(build, number, finish), now_ns)

    def poll(self, now_ns: int) -> Any | None:
        """Return the answer if there is one by now, else None.

        Raises:
            PolicyError: If the question failed.
        """
        asked = self._asked
        if asked is None:
            return None
        if asked.ready_ns is None:
            if not asked.future.done():
                return None
        elif now_ns < asked.ready_ns:
            return None
        self._asked = None
        try:
            answer = asked.future.result()
        except CancelledError:
            raise PolicyError("the run ended before the policy server answered") from None
        if asked.ready_ns is not None and isinstance(answer, Answer):
            # What a server really took must not show in a run that is to repeat.
            seconds = (self._lockstep_ns or 0) / 1e9
            reply = dataclasses.replace(answer.reply, timing_ms={})
            answer = dataclasses.replace(
                answer, reply=reply, roundtrip_s=seconds, preprocess_s=0.0, postprocess_s=0.0
            )
        return answer

    def forget(self) -> None:
        """Leave the question under way unanswered; its connection is dropped."""
        asked, self._asked = self._asked, None
        if asked is not None:
            asked.future.cancel()

    def close(self) -> None:
        """Close the connection and end the thread."""
        if not self._thread.is_alive():
            return
        self.forget()
        future = asyncio.run_coroutine_threadsafe(self._close(), self._loop)
        try:
            future.result(_CLOSE_S)
        except (TimeoutError, PolicyError):
            future.cancel()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_S)

    def _ask(self, question: Coroutine[Any, Any, Any], now_ns: int) -> None:
        if self._asked is not None:
            question.close()
            raise PolicyError("a question is under way; one at a time")
        future = asyncio.run_coroutine_threadsafe(question, self._loop)
        ready_ns = None
        if self._lockstep_ns is not None:
            # Simulated time stands still; how long the server really takes must not matter.
            while not wait([future], timeout=_LOOK_S).done:
                if self._ended():
                    future.cancel()
            ready_ns = now_ns + self._lockstep_ns
        self._asked = Asked(future=future, ready_ns=ready_ns)

    async def _connect(self, episode: str) -> Mapping[str, Any]:
        if self._client is None:
            self._client = self._make_client()
        metadata = await self._client.connect()
        await self._client.reset(episode)
        return metadata

    async def _infer(
        self,
        build: Callable[[], Mapping[str, Any]],
        number: int,
        finish: Callable[[Reply], Any],
    ) -> Answer:
        if self._client is None:
            self._client = self._make_client()
        started = self._loop.time()
        observation = build()
        built_s = self._loop.time() - started
        answer = await self._client.infer(observation, observation_id=number)
        answered = self._loop.time()
        chunk = finish(answer.reply)
        done_s = self._loop.time() - answered
        return dataclasses.replace(answer, preprocess_s=built_s, postprocess_s=done_s, chunk=chunk)

    async def _close(self) -> None:
        # A question that was cancelled still has its connection to drop.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=_CLOSE_S / 2)
        if self._client is not None:
            await self._client.close()
