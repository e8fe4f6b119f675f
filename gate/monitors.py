"""What is watched between commands: the rest of the motion, against what has changed since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.gate.samples import end_ns

if TYPE_CHECKING:
    from interlock.gate.chain import Chain
    from interlock.gate.config import MonitorSettings
    from interlock.gate.judgement import Judge
    from interlock.gate.surroundings import Surroundings

#: A motion that was held is judged again by its next command; the status says so this long.
_HELD_NS = 300_000_000


class Monitors:
    """Judges the motion being executed again whenever it is asked to look.

    Attributes:
        holding: Why the arm is held; empty when it is not.
    """

    def __init__(
        self, settings: MonitorSettings, judge: Judge, chain: Chain, surroundings: Surroundings
    ) -> None:
        self._settings = settings
        self._judge = judge
        self._chain = chain
        self._surroundings = surroundings
        self._held_until_ns = 0
        self._looked = False
        self.holding = ""

    def look(self, touches: frozenset[str], now_ns: int, *, moved: bool) -> str | None:
        """Return why the arm must stop now, in words; None when it may go on.

        Args:
            touches: What the task may touch.
            now_ns: Time, in ns.
            moved: True when something has moved; False at a tick, where distances are measured
                again only if nothing else had them measured since the last tick.
        """
        measure, self._looked = moved or not self._looked, moved
        if now_ns >= self._held_until_ns:
            self.holding = ""
        motion = self._chain.motion_at(now_ns) or self._chain.newest
        start_ns = self._judge.motion.earliest_ns(now_ns)
        if motion is None or end_ns(motion) <= start_ns or motion.stop_index == 0:
            return None
        trouble = self._stale(now_ns)
        if trouble is None and measure:
            trouble = self._in_the_way(start_ns, touches, now_ns)
        if trouble is not None:
            self.holding = trouble
            self._held_until_ns = now_ns + _HELD_NS
        return trouble

    def _stale(self, now_ns: int) -> str | None:
        observed_ns = self._surroundings.state_observed_ns
        age_ms = (now_ns - (observed_ns or 0)) / 1e6
        if age_ms <= self._settings.max_state_age_ms:
            return None
        return (
            f"the robot's state is {age_ms:.0f} ms old, "
            f"the limit is {self._settings.max_state_age_ms:.0f} ms"
        )

    def _in_the_way(self, start_ns: int, touches: frozenset[str], now_ns: int) -> str | None:
        plan = self._judge.motion.rest_of(start_ns)
        stages = [
            stage
            for stage, on in (
                ("path", self._settings.path),
                ("separation", self._settings.separation),
            )
            if on
        ]
        for finding in self._judge.remaining(plan, touches, now_ns, stages):
            if finding.reason is not None:
                return finding.reason.sentence
        return None
