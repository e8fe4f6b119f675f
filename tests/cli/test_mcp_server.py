"""`interlock mcp` as a process, driven by the official client; the robot is the lockstep graph."""

import asyncio
import os
import sys
import threading
import time

import pytest

from interlock.benchmarks.arena_graph import dataflow
from interlock.nodes._lockstep import Lockstep

mcp = pytest.importorskip("mcp")
from mcp import ClientSession, StdioServerParameters  # noqa: E402
from mcp.client.stdio import stdio_client  # noqa: E402

RUN = "mcp-test"


@pytest.fixture
def robot(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    graph = dataflow({}, scene="tabletop", layout_seed=0)
    for node in graph["nodes"]:
        if node["id"] == "policy":
            node["path"] = node["path"].replace("policy.py", "skills.py")
            node["env"] = {"SCENE": "tabletop", "SOCKET": "true"}
    run = Lockstep(graph, dataflow_dir=tmp_path, run_dir=tmp_path / "run", run_id=RUN)
    run.start()
    ending = threading.Event()

    def go():
        while not ending.is_set():
            run.run_until(run.now_ns + 20_000_000)
            time.sleep(0.002)
        run.stop()

    thread = threading.Thread(target=go)
    thread.start()
    yield run
    ending.set()
    thread.join()


def talk(tmp_path, conversation):
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "interlock.cli.main", "mcp", "--run", RUN],
        env=dict(os.environ),
        cwd=tmp_path,
    )

    async def run():
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            await session.initialize()
            return await conversation(session)

    return asyncio.run(run())


def test_a_skill_is_a_tool_that_returns_when_the_arm_has_done_it(robot, tmp_path):
    heard = []

    async def conversation(session):
        async def progress(value, total, message):
            heard.append(message)

        tools = await session.list_tools()
        moved = await session.call_tool(
            "move_to", {"target": [0.5, 0.1, 0.3], "speed": 0.1}, progress_callback=progress
        )
        state = await session.call_tool("world", {"keys": ["state"]})
        return tools, moved, state

    tools, moved, state = talk(tmp_path, conversation)
    assert {"grasp", "place", "start", "wait_for", "cancel"} <= {t.name for t in tools.tools}
    assert not moved.isError, moved.content
    assert '"tool_position_m": [0.5, 0.1, 0.3]' in state.content[0].text.replace("0.0999", "0.1")
    assert heard


def test_what_was_started_is_polled_redirected_and_cancelled_at_rest(robot, tmp_path):
    async def conversation(session):
        started = await session.call_tool(
            "start", {"skill": "follow", "parameters": {"target": "cup_red"}}
        )
        goal = {"goal": started.content[0].text.split('"goal": "')[1].split('"')[0]}
        woke = await session.call_tool("wait_for", {"wake_on": ["cup_red"], "timeout_s": 5})
        await session.call_tool("update", goal | {"parameters": {"height_m": 0.2}})
        return woke, await session.call_tool("cancel", goal)

    woke, cancelled = talk(tmp_path, conversation)
    assert '"woke": "cup_red"' in woke.content[0].text
    assert '"status": "cancelled"' in cancelled.content[0].text
    assert robot.node("simulator").driver.at_rest


def test_a_call_that_makes_no_sense_is_an_error_to_the_caller(robot, tmp_path):
    calls = [
        ("grasp", {"target": "cup_green"}, "never received"),
        ("move_to", {"target": [0.5, 0.0]}, "too short"),
        ("lift", {"height_m": 9}, "outside 0 to 0.6"),
        ("poll", {"goal": "nobody/1"}, "no goal"),
        ("dance", {}, "no tool"),
    ]

    async def conversation(session):
        return [await session.call_tool(name, arguments) for name, arguments, _ in calls]

    for result, (_, _, expected) in zip(talk(tmp_path, conversation), calls, strict=True):
        assert result.isError
        assert expected in result.content[0].text


def test_a_client_that_disappears_takes_its_motion_with_it(robot, tmp_path):
    async def conversation(session):
        await session.call_tool("start", {"skill": "follow", "parameters": {"target": "cup_red"}})

    talk(tmp_path, conversation)
    told = robot.node("policy").runtime.told
    for _ in range(500):
        if any("client disconnected" in line for line in told):
            break
        time.sleep(0.01)
    assert any("follow cup_red: cancelled" in line for line in told)
