"""A served vision-language-action model: fits or is invalid, and drives through the Gate.

``--policy-config`` is a preset, ``family/name`` or a YAML file; INTERLOCK_VLA_URL says where the
model is served.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from interlock.messages.errors import InterlockError
from interlock.policies.vla.errors import SetupError
from interlock.policies.vla.fit import check_robot
from interlock.policies.vla.preset_files import load_preset
from interlock.policies.vla.robot import PANDA
from interlock.trials.errors import InvalidSetupError, PreflightError, RefusedError
from interlock.trials.reachable import check_reachable

if TYPE_CHECKING:
    from interlock.policies.vla.preset import Preset
    from interlock.trials.harness import Inside
    from interlock.trials.plan import Plan
    from interlock.trials.robo_client import RoboClient

DEFAULT_PRESET = "interlock/panda"


class Vla:
    """Plays the chunks of a policy server until the episode ends.

    Attributes:
        report: What the policy asked for, what was sent and measured, and its latencies.
    """

    def __init__(self) -> None:
        self.report: dict[str, Any] = {}

    def preflight(self, plan: Plan) -> None:
        """Check preset, robot and address before the simulator starts.

        Raises:
            PreflightError: If the task's world cannot be driven so, or nobody answers.
            InvalidSetupError: If preset and robot do not fit.
        """
        if plan.task.world != "tabletop":
            raise PreflightError(f"harness vla drives world tabletop, not {plan.task.world!r}")
        preset = chosen_preset(plan)
        try:
            check_robot(preset, PANDA)
        except SetupError as error:
            raise InvalidSetupError(str(error)) from error
        parts = urlsplit(preset.wire.url if "//" in preset.wire.url else f"//{preset.wire.url}")
        check_reachable(parts.hostname or "", parts.port, what=f"policy server {preset.wire.url}")

    def play(self, robo: RoboClient, plan: Plan, inside: Inside) -> None:
        """Drive, then say done."""
        from interlock.trials.tabletop_policy import drive

        preset = chosen_preset(plan)
        reply = inside.run_policy(
            lambda world: drive(
                world, preset, plan, self.report, lambda: inside.outcome is not None
            )
        )
        if not reply["ok"]:
            codes = reply.get("refused", {}).get("codes", [])
            if "setup" in codes:
                raise InvalidSetupError(reply["error"])
            if "policy" in codes:
                raise InterlockError(reply["error"])
            raise RefusedError(reply["error"], way_out="", codes=tuple(codes))
        if not robo.ask("status")["result"]["finished"]:
            robo.ask("done", text=f"vla: {reply['result'].get('done', '')}")


def chosen_preset(plan: Plan) -> Preset:
    """Return the preset that ``--policy-config`` names, with the overrides of the environment.

    Raises:
        PreflightError: If there is none, or it is not acceptable.
    """
    named = str(plan.policy_config or DEFAULT_PRESET)
    try:
        return load_preset(named, environment=os.environ)
    except InterlockError as error:
        raise PreflightError(str(error)) from error
