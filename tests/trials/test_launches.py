"""The command lines of agents: their real flags, one provider, MCP only when asked for."""

import json
from pathlib import Path

import pytest
from trial_worlds import make_task

from interlock.trials.harness import HARNESSES, Launcher, Player, Room, make_harness
from interlock.trials.plan import Plan

ROOM = Room(
    workspace=Path("/workspace"),
    socket=Path("/run/interlock/robo.sock"),
    bin=Path("/run/interlock/bin"),
    prompt="PROMPT",
    gateway_url="http://127.0.0.1:8710",
    gateway_key="sk-trial",
    model="some-model",
)
AGENTS = ["claude-code", "codex", "gemini-cli", "mini-swe-agent", "react", "show-harness"]


def launch(name: str, **changes: str) -> tuple[str, dict[str, str], dict[str, str]]:
    harness = make_harness(name)
    assert isinstance(harness, Launcher)
    plan = Plan(task=make_task(), harness=name, model="vllm/m", out=Path("out"), **changes)
    made = harness.launch(plan, ROOM)
    return " ".join(made.argv), dict(made.environment), dict(made.files)


@pytest.mark.parametrize("name", sorted(HARNESSES))
def test_every_harness_is_a_player_or_a_launcher(name: str) -> None:
    harness = make_harness(name)
    assert isinstance(harness, Launcher) != isinstance(harness, Player)


@pytest.mark.parametrize("name", AGENTS)
def test_agents_know_the_gateway_and_the_key_of_the_trial_only(name: str) -> None:
    argv, environment, files = launch(name)
    everything = json.dumps([argv, environment, files])
    assert "127.0.0.1:8710" in everything
    assert "sk-trial" in environment.values()
    assert "sk-trial" not in argv


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini-cli"])
def test_mcp_is_configured_only_when_asked_for(name: str) -> None:
    def everything(interface: str) -> str:
        argv, _, files = launch(name, interface=interface)
        return argv + json.dumps(files)

    assert "robo_mcp.py" not in everything("cli")
    assert "robo_mcp.py" in everything("mcp")
    assert "robo_mcp.py" in everything("both")


@pytest.mark.parametrize("name", AGENTS)
def test_noise_on_stdout_is_skipped(name: str) -> None:
    harness = make_harness(name)
    assert isinstance(harness, Launcher)
    noise = '{"type": "assistant"}\n{"type": "item.completed", "item": 5}\n[1]\n{bad\nhello\n'
    noise += '{"type": "assistant", "message": {"content": [5, null, {"type": "tool_use"}]}}\n'
    noise += '{"type": "result", "usage": "none", "total_cost_usd": "free"}\n' + "{" * 5000 + "\n"
    steps, usage = harness.transcript(noise)
    assert isinstance(steps, list)
    assert usage.cost_usd is None
    assert harness.failure(0, noise) is None
    assert harness.failure(1, "")
