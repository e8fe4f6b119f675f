"""Start real runs with `interlock start` in a process of their own; look at what they leave."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interlock.cli.run_processes import kill_all, processes_of, state_of
from interlock.messages import InterlockError

ROOT = Path(__file__).parents[2]
INTERLOCK = [sys.executable, "-m", "interlock.cli.main"]


class Run:
    """One `interlock start` in the background."""

    def __init__(self, file, folder, *words, **environ):
        self.output_file = folder / "output.txt"
        self.process = subprocess.Popen(
            [*INTERLOCK, "start", str(file), "--runs", str(folder / "runs"), *words],
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=self.output_file.open("wb"),
            stderr=subprocess.STDOUT,
            cwd=ROOT,
        )
        self.folder = folder

    @property
    def output(self):
        return self.output_file.read_text(errors="replace")

    @property
    def run_dir(self):
        return next((self.folder / "runs").iterdir())

    @property
    def outcome(self):
        return json.loads((self.run_dir / "outcome.json").read_text())

    def events(self, node):
        file = self.run_dir / "events" / f"{node}.jsonl"
        return [json.loads(x) for x in file.read_text().splitlines()] if file.exists() else []

    def wait_for(self, condition, within_s=30.0):
        """Wait until a condition holds, or text is in the output; fail with the output if not."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, StopIteration, ValueError, InterlockError):
                if condition in self.output if isinstance(condition, str) else condition():
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.05 if isinstance(condition, str) else 0.2)
        pytest.fail(f"waited in vain for {condition}; output:\n{self.output}\n{self.log()}")

    def pid(self, node):
        """Return the process of a node, or of dora for ''."""
        self.wait_for(lambda: [p for p in processes_of(self.run_dir) if p.node == node])
        return max(p.pid for p in processes_of(self.run_dir) if p.node == node)

    def hit(self, node, number=signal.SIGKILL):
        os.kill(self.pid(node), number)

    def press_ctrl_c(self):
        self.process.send_signal(signal.SIGINT)

    def end(self, within_s=30.0):
        """Wait for the end; return the exit code."""
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            pytest.fail(f"does not end; output:\n{self.output}\n{self.log()}")

    def log(self):
        with contextlib.suppress(OSError, StopIteration):
            return (self.run_dir / "dora.log").read_text(errors="replace")[-3000:]
        return ""

    def left_behind(self):
        return processes_of(self.run_dir)

    def wait_until_gone(self, pid, within_s=10.0):
        deadline = time.monotonic() + within_s
        while state_of(pid) not in ("", "Z"):
            if time.monotonic() > deadline:
                pytest.fail(f"process {pid} is still there")
            time.sleep(0.05)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        with contextlib.suppress(StopIteration, OSError):
            kill_all(self.run_dir)


@pytest.fixture
def start(tmp_path):
    """Start a dataflow: ``start(file, *words, **environ)`` returns the Run."""
    runs = []

    def begin(file, *words, **environ):
        folder = tmp_path / f"start{len(runs)}"
        folder.mkdir()
        runs.append(Run(file, folder, *words, **environ))
        return runs[-1]

    yield begin
    for run in runs:
        run.close()


WORKER = """
import os, time
from dataclasses import dataclass
from typing import ClassVar

from interlock.messages import Event, Output
from interlock.nodes._node import Node


class Worker(Node):
    @dataclass(frozen=True, kw_only=True)
    class Settings:
        ticks: int = 20
        then: str = "finish"

    outputs: ClassVar = {"event": Event}
    count = 0

    def on_tick(self, now_ns):
        self.count += 1
        if self.count % 10 == 0:
            yield Output(output="event", message=Event(kind="task", text=f"worked {self.count}"))
        if self.count == self.settings.ticks:
            self.end()

    def end(self):
        match self.settings.then:
            case "finish":
                self.finished = "all done"
            case "fail":
                self.failed = "no more wood"
            case "raise":
                raise ValueError("a splinter")
            case "exit":
                os._exit(7)
            case "block":
                time.sleep(60)


NODE = Worker
if __name__ == "__main__":
    from interlock.nodes._dora import run

    run(NODE)
"""


@pytest.fixture
def worker(tmp_path):
    """Write a dataflow with one worker and a trace: ``worker(ticks=40, then="finish")``."""

    def write(**settings):
        (tmp_path / "worker.py").write_text(WORKER)
        env = json.dumps({k.upper(): v for k, v in settings.items()})
        file = tmp_path / "work.yml"
        file.write_text(f"""
exit_when_nodes_finish: true
nodes:
  - id: worker
    path: worker.py
    env: {env}
    inputs: {{tick: dora/timer/millis/50}}
    outputs: [event]
  - id: trace
    path: {ROOT}/nodes/trace_sink.py
    inputs:
      tick: dora/timer/millis/200
      worker_event: {{source: worker/event, queue_size: 20000}}
""")
        return file

    return write
