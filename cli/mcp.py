"""`interlock mcp`: the skills of a running graph as tools of an MCP server over stdio."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from io import TextIOWrapper

    from mcp.server.lowlevel import Server

    from interlock.cli.desk_client import DeskClient


@click.command()
@click.option("--run", "run_id", default="", help="Run, if several are going on.")
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs"), show_default=True)
def mcp(run_id: str, runs: Path) -> None:
    """Serve an MCP client (a coding agent, a chat program) over stdin and stdout.

    Needs a graph that runs `nodes/skills.py`: `interlock serve`.
    """
    protocol = keep_stdout_for_the_protocol()
    from interlock.cli.desk import desk_path
    from interlock.messages.errors import InterlockError

    try:
        import anyio
        import mcp as _  # noqa: F401
    except ImportError as error:
        raise InterlockError(
            "`interlock mcp` needs the extra: pip install interlock[mcp]"
        ) from error
    anyio.run(_serve, desk_path(run_id), runs, protocol)


def keep_stdout_for_the_protocol() -> TextIOWrapper:
    """Return a file on the real stdout; whatever else prints there, C code too, goes to stderr."""
    real = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return os.fdopen(real, "w", encoding="utf-8")


async def _serve(path: Path, runs: Path, protocol: TextIOWrapper) -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    from interlock.cli.desk_client import DeskClient

    stdout = anyio.wrap_file(protocol)
    async with DeskClient(path) as desk, stdio_server(stdout=stdout) as (reading, writing):
        server = make_server(desk, runs)
        await server.run(reading, writing, server.create_initialization_options())


def make_server(desk: DeskClient, runs: Path) -> Server[Any, Any]:
    """Return the MCP server for a connection to the skills node."""
    from mcp import types
    from mcp.server.lowlevel import Server

    from interlock.cli.mcp_tools import call_tool, text_of, tool_list
    from interlock.messages.errors import InterlockError

    server: Server[Any, Any] = Server("interlock")

    @server.list_tools()  # type: ignore[no-untyped-call, untyped-decorator]
    async def list_tools() -> list[types.Tool]:
        return [
            types.Tool(name=name, description=text, inputSchema=schema)
            for name, text, schema in tool_list()
        ]

    @server.call_tool()  # type: ignore[untyped-decorator]
    async def call(name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        async def progress(value: float, text: str) -> None:
            context = server.request_context
            token = context.meta.progressToken if context.meta else None
            if token is not None:
                await context.session.send_progress_notification(token, value, message=text)

        try:
            result = await call_tool(desk, name, arguments, progress, runs=runs)
        except InterlockError as error:
            return types.CallToolResult(
                content=[types.TextContent(type="text", text=str(error))], isError=True
            )
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text_of(result))], isError=False
        )

    return server
