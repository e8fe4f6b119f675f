"""The loop of show-harness. Free-standing: a copy runs inside the sandbox.

The model sees pictures, the height of the hand and the width of the gripper, and answers with one
unit. The interpreter carries a unit out in a closed loop; every control step counts.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import urllib.error
import urllib.request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOVES = ("MV_FWD", "MV_BACK", "MV_LEFT", "MV_RIGHT", "MV_UP", "MV_DOWN")
GRIPS = ("GRASP", "RELEASE")
MAX_DECISIONS = {"zero-shot": 200, "fine-tuned": 400}
PER_STAGE = 40
HISTORY = 5
STUCK_M = 0.005
GRIP_STEPS = 20
CALL_S = 300.0


class OverError(Exception):
    """The episode is over, or there is no more to decide."""


class Model:
    """Asks the model behind the gateway."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings

    def ask(self, text: str, images: list[str], *, max_tokens: int) -> str:
        """Return what it answers to a text and pictures."""
        parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
        for image in images:
            url = "data:image/png;base64," + image
            parts.append({"type": "image_url", "image_url": {"url": url}})
        body = {
            "model": self._settings["model"],
            "messages": [{"role": "user", "content": parts}],
            "max_tokens": max_tokens,
            "temperature": 0,
        }
        headers = {
            "Content-Type": "application/json",
            "Authorization": "Bearer " + os.environ["INTERLOCK_GATEWAY_KEY"],
        }
        request = urllib.request.Request(self._settings["url"], json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=CALL_S) as response:
                return str(json.load(response)["choices"][0]["message"]["content"] or "")
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            say("error", text=f"the model did not answer: {error}")
            sys.exit(1)


class Hand:
    """Carries units out and reports where the hand is."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        flat = settings["up"] is None
        self.units = (*(MOVES[:4] if flat else MOVES), *GRIPS, "DONE")
        self.where: list[float] = []
        self.opening = 1.0
        self.images: list[str] = []

    def look(self) -> None:
        """Take pictures and read height and gripper, nothing else."""
        self.images = []
        for view in self._settings["views"]:
            result = ask({"verb": "observe", "camera": view})["result"]
            self.images += [image["png_base64"] for image in result["images"]]
            state = result["state"]
        self.where, self.opening = list(state["hand_m"]), float(state["grip_open"])

    def describe(self) -> str:
        """Return height and gripper width in words."""
        height = f"hand height {self.where[2] * 100:.0f} cm, " if len(self.where) > 2 else ""
        return f"{height}gripper {self.opening * 100:.0f} % open"

    def do(self, unit: str) -> float:
        """Carry a unit out; return how far the hand went, in m."""
        if unit in GRIPS:
            ask({"verb": "grip", "opening": float(unit == "RELEASE"), "steps": GRIP_STEPS})
            return 1.0
        before = list(self.where)
        target = [a + b for a, b in zip(before, self._step(unit), strict=False)]
        position = [*target, 0.2][:3]
        reply = ask(
            {"verb": "move_to", "position": position, "tolerance_m": 0.001, "max_steps": 24}
        )
        after = reply.get("result", {}).get("state", {}).get("hand_m", before)
        return float(sum((a - b) ** 2 for a, b in zip(after, before, strict=True)) ** 0.5)

    def _step(self, unit: str) -> list[float]:
        axis, sign = {
            "MV_FWD": ("fwd", 1),
            "MV_BACK": ("fwd", -1),
            "MV_LEFT": ("left", 1),
            "MV_RIGHT": ("left", -1),
            "MV_UP": ("up", 1),
            "MV_DOWN": ("up", -1),
        }[unit]
        return [sign * self._settings["step_m"] * value for value in self._settings[axis]]


def main() -> None:
    """Plan if zero-shot, then decide unit by unit."""
    with open("settings.json", encoding="utf-8") as file:
        settings = json.load(file)
    model, hand = Model(settings), Hand(settings)
    try:
        stages = plan(model, hand, settings)
        budget = MAX_DECISIONS[settings["mode"]]
        for number, stage in enumerate(stages):
            budget -= run_stage(model, hand, settings, stage, min(budget, PER_STAGE))
            if budget <= 0 or number == len(stages) - 1:
                break
        ask({"verb": "done", "text": "show-harness"})
    except OverError:
        return


def plan(model: Model, hand: Hand, settings: dict[str, Any]) -> list[str]:
    """Return the subgoals: asked for zero-shot, the whole task otherwise."""
    if settings["mode"] == "fine-tuned":
        return [settings["task"]] * (MAX_DECISIONS["fine-tuned"] // PER_STAGE)
    hand.look()
    text = (
        f"{settings['task']}\n\nDivide this into a few subgoals for a robot hand that moves in "
        "small steps. Answer with a JSON list of strings only."
    )
    for _ in range(3):
        answer = model.ask(text, hand.images, max_tokens=1000)
        try:
            goals = json.loads(answer[answer.index("[") : answer.rindex("]") + 1])
        except ValueError:
            continue
        if isinstance(goals, list) and goals:
            say("plan", text=json.dumps(goals))
            return [str(goal) for goal in goals]
    return [settings["task"]]


def run_stage(model: Model, hand: Hand, settings: dict[str, Any], goal: str, limit: int) -> int:
    """Decide until the model says DONE; return how many decisions it took."""
    past: list[str] = []
    blocked = ""
    for count in range(1, limit + 1):
        hand.look()
        allowed = [unit for unit in hand.units if unit != blocked]
        unit = decide(model, hand, settings, goal, past, allowed)
        say("unit", unit=unit, text=goal)
        if unit == "DONE":
            if settings["mode"] == "fine-tuned":
                ask({"verb": "done", "text": "show-harness"})
                raise OverError
            return count
        moved = hand.do(unit)
        say("moved", text=f"{unit} moved the hand {moved * 1000:.0f} mm")
        stuck = moved < STUCK_M and past[-1:] == [unit]
        blocked = unit if stuck else ""
        past = [*past, unit][-HISTORY:]
    return limit


def decide(
    model: Model,
    hand: Hand,
    settings: dict[str, Any],
    goal: str,
    past: list[str],
    allowed: list[str],
) -> str:
    """Return the next unit; an answer without one is asked again, then the last move stands."""
    last = " ".join(past) or "none"
    text = f"{goal}\nLast units: {last}. {hand.describe()}."
    if settings["mode"] == "zero-shot":
        text = (
            f"Task: {settings['task']}\nSubgoal: {text}\n"
            f"Moves are {settings['step_m'] * 100:.0f} cm. "
            f"Answer with exactly one of: {', '.join(allowed)}. DONE means the subgoal is reached."
        )
    for _ in range(2):
        answer = model.ask(text, hand.images, max_tokens=8 if "tuned" in settings["mode"] else 300)
        found = [unit for unit in allowed if unit in answer.upper()]
        if found:
            return max(found, key=lambda unit: answer.upper().rindex(unit))
    moves = [unit for unit in past if unit in MOVES and unit in allowed]
    return moves[-1] if moves else next(unit for unit in allowed if unit in MOVES)


def ask(request: dict[str, Any]) -> dict[str, Any]:
    """Ask the episode; raise OverError once it has ended."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(os.environ["INTERLOCK_ROBO_SOCKET"])
        connection.sendall(json.dumps(request).encode() + b"\n")
        reply: dict[str, Any] = json.loads(connection.makefile("rb").readline())
    if "episode" in (reply.get("budget") or {}):
        raise OverError
    return reply


def say(event: str, **values: object) -> None:
    """Print one event."""
    sys.stdout.write(json.dumps({"event": event, **values}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
