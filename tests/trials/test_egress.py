"""Allowed hosts: the agent reaches those that were named, through a tunnel, and no other."""

import socket
import threading
from pathlib import Path

import pytest
from trial_worlds import make_task

from interlock.trials.egress import parse_hosts
from interlock.trials.errors import PreflightError
from interlock.trials.plan import Plan
from interlock.trials.runner import run_trial


def test_only_a_named_host_can_be_reached(tmp_path: Path, walls: str) -> None:
    if walls:
        pytest.skip(walls)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def greet() -> None:
            client, _ = server.accept()
            client.sendall(b"HELLO")
            client.close()

        threading.Thread(target=greet, daemon=True).start()
        program = tmp_path / "out.py"
        program.write_text(
            "import os, socket\n"
            "def ask(host):\n"
            "    s = socket.create_connection(('127.0.0.1', 8711), 5)\n"
            "    s.sendall(f'CONNECT {host} HTTP/1.1\\r\\n\\r\\n'.encode())\n"
            "    data = b''\n"
            "    while part := s.recv(4096): data += part\n"
            "    print(host, data)\n"
            f"ask('127.0.0.1:{port}'); ask('127.0.0.1:22'); ask('example.com:443')\n"
            "print(os.environ['HTTPS_PROXY'])\n"
        )
        hosts = (f"127.0.0.1:{port}",)
        plan = Plan(
            task=make_task(),
            harness="program",
            out=tmp_path,
            policy_config=program,
            allow_hosts=hosts,
        )
        run_trial(plan)
    said = (tmp_path / plan.name() / "agent" / "stdout.txt").read_text()
    assert said.count("HELLO") == 1
    assert said.count("403") == 2
    assert "http://127.0.0.1:8711" in said


@pytest.mark.parametrize("name", ["*", "*.com", "https://x.com", "x:99999999", "", "a b"])
def test_an_allowed_host_is_a_host(name: str) -> None:
    with pytest.raises(PreflightError, match="allow-host"):
        parse_hosts([name])
