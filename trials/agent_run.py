"""Let an agent act until the episode or the agent is over, then end all it started.

This file reads the clock.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from interlock.trials.egress import EgressProxy, parse_hosts
from interlock.trials.environment import agent_environment
from interlock.trials.gateway import Gateway, needs_gateway, open_gateway
from interlock.trials.harness import Launcher, Room
from interlock.trials.player_run import AFTER_END_S, AgentEnd
from interlock.trials.process_tree import AgentProcess
from interlock.trials.prompt import write_prompt
from interlock.trials.sandbox import Walls, enclose, prepare_room, relay_port
from interlock.trials.trial_folder import write_json

if TYPE_CHECKING:
    from pathlib import Path

    from interlock.trials.episode_thread import EpisodeThread
    from interlock.trials.plan import Plan
    from interlock.trials.task import Instance

POLL_S = 0.02
#: Exit code of an agent of ours that found that policy and task do not fit.
MISFIT = 3


def run_agent(
    plan: Plan,
    instance: Instance,
    launcher: Launcher,
    thread: EpisodeThread,
    *,
    scratch: Path,
    folder: Path,
) -> AgentEnd:
    """Start the agent's process, wait, and end its whole tree."""
    walls = prepare_room(scratch, sandboxed=plan.sandbox)
    gateway = None
    if needs_gateway(plan, launcher):
        gateway = open_gateway(plan, launcher, scratch, folder)
    hosts = parse_hosts(plan.allow_hosts)
    egress = EgressProxy(scratch / "egress.sock", hosts) if hosts else None
    try:
        process = _start(plan, instance, launcher, walls, _Ways(walls, gateway, egress), folder)
        try:
            _wait(process, thread, gateway)
        finally:
            code = process.returncode
            killed = process.end()
        return _end(launcher, process, thread, code, killed, gateway, folder)
    finally:
        for server in (gateway, egress):
            if server is not None:
                server.close()


class _Ways:
    """The ways out of the sandbox: port that the agent sees, and the environment that says so."""

    def __init__(self, walls: Walls, gateway: Gateway | None, egress: EgressProxy | None) -> None:
        self.gateway, self.url = gateway, ""
        self.relays: dict[int, Path] = {}
        self.environment: dict[str, str] = {}
        if gateway is not None:
            port = relay_port(walls)
            self.relays[port], self.url = gateway.socket, f"http://127.0.0.1:{port}"
        if egress is not None:
            port = relay_port(walls, 1)
            self.relays[port] = egress.path
            proxy = f"http://127.0.0.1:{port}"
            names = ("HTTPS_PROXY", "https_proxy")
            self.environment = dict.fromkeys(names, proxy) | {"NO_PROXY": "127.0.0.1,localhost"}


def _start(
    plan: Plan,
    instance: Instance,
    launcher: Launcher,
    walls: Walls,
    ways: _Ways,
    folder: Path,
) -> AgentProcess:
    gateway = ways.gateway
    room = Room(
        workspace=walls.inside_workspace,
        socket=walls.inside_socket,
        bin=walls.inside_bin,
        prompt=write_prompt(plan, instance),
        gateway_url=ways.url,
        gateway_key=gateway.key if gateway else "",
        model=gateway.model if gateway else plan.model,
    )
    launch = launcher.launch(plan, room)
    for name, content in launch.files.items():
        path = walls.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    environment = agent_environment(
        home=walls.inside_workspace / ".home",
        socket=walls.inside_socket,
        bin_folder=walls.inside_bin,
        extra={**launch.environment, **ways.environment},
    )
    argv = enclose(launch, walls, ways.relays)
    return AgentProcess(argv, cwd=walls.workspace, environment=environment, output=folder / "agent")


def _wait(process: AgentProcess, thread: EpisodeThread, gateway: Gateway | None) -> None:
    """Return when the agent is gone, or some time after the episode is over."""
    over_s: float | None = None
    while process.returncode is None:
        if gateway is not None and gateway.cap_reached:
            thread.end("budget_stop", "spend cap reached")
        if thread.outcome in ("agent_timeout", "budget_stop", "stopped"):
            return
        if thread.outcome is not None:
            over_s = over_s if over_s is not None else time.monotonic()
            if time.monotonic() - over_s > AFTER_END_S:
                return
        time.sleep(POLL_S)


def _end(
    launcher: Launcher,
    process: AgentProcess,
    thread: EpisodeThread,
    code: int | None,
    killed: int,
    gateway: Gateway | None,
    folder: Path,
) -> AgentEnd:
    stdout = (folder / "agent" / "stdout.txt").read_text(encoding="utf-8", errors="replace")
    steps, usage = launcher.transcript(stdout)
    write_json(folder / "trajectory.json", {"steps": [asdict(step) for step in steps]})
    end = AgentEnd(
        agent={"returncode": code, "killed": killed, "dropped_bytes": process.dropped_bytes},
        usage=asdict(usage) | (gateway.usage() if gateway else {}),
    )
    if code == MISFIT:
        end.exception = {"type": "InvalidSetup", "message": _last_line(folder)}
    elif thread.outcome is None and (why := launcher.failure(code, stdout)):
        end.exception = {"type": "AgentError", "message": f"{why}. {_last_line(folder)}".strip()}
    if gateway is not None and thread.outcome is None and gateway.every_call_failed:
        end.exception = {"type": "ProviderError", "message": gateway.last_error}
    return end


def _last_line(folder: Path) -> str:
    text = (folder / "agent" / "stderr.txt").read_text(encoding="utf-8", errors="replace")
    rows = [row for row in text.splitlines() if row.strip()]
    return rows[-1][:500] if rows else ""
