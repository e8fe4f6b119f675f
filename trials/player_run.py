"""Let a player (oracle, noop, scripted, policy client) act from inside the runner.

This file waits on threads.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from interlock.trials.errors import InvalidSetupError, RefusedError, UsageError
from interlock.trials.harness import Reporter
from interlock.trials.robo_client import RoboClient

if TYPE_CHECKING:
    from pathlib import Path

    from interlock.trials.episode_thread import EpisodeThread
    from interlock.trials.harness import Player
    from interlock.trials.plan import Plan

AFTER_END_S = 15.0


@dataclass(slots=True, kw_only=True)
class AgentEnd:
    """How an agent ended: None as exception means that the trial is scored."""

    exception: dict[str, str] | None = None
    agent: dict[str, Any] = field(default_factory=dict)
    usage: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def failed(cls, kind: str, message: str) -> AgentEnd:
        """Return an end that is not scored."""
        return cls(exception={"type": kind, "message": message})


def run_player(plan: Plan, player: Player, thread: EpisodeThread, *, socket: Path) -> AgentEnd:
    """Let a player act over the same socket that agents use; it stops with the episode."""
    end = AgentEnd()

    def play() -> None:
        try:
            with RoboClient(socket) as robo:
                player.play(robo, plan, thread)
        except (RefusedError, UsageError) as error:
            end.agent["stopped_by"] = str(error)
        except InvalidSetupError as error:
            end.exception = {"type": "InvalidSetup", "message": str(error)}
        except Exception as error:
            end.exception = {"type": type(error).__name__, "message": str(error)}

    worker = threading.Thread(target=play, name="player", daemon=True)
    worker.start()
    while worker.is_alive():
        worker.join(1.0)
        if thread.outcome is not None:
            worker.join(AFTER_END_S)
            break
    if isinstance(player, Reporter):
        end.agent |= player.report
    return end
