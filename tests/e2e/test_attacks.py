"""Attacks on the real transport: a frame that the Gate did not seal never moves the arm."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml
import zenoh

from interlock.gate.seal import seal
from interlock.messages import AdmittedCommand, RobotState, encode
from interlock.operators.trace import Trace

pytestmark = pytest.mark.dora
ROOT = Path(__file__).parents[2]


def listening_ports(pids):
    """Return the TCP ports that processes listen on, on any address."""
    inodes = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if found := re.match(r"socket:\[(\d+)\]", str(descriptor.readlink())):
                    inodes.add(found.group(1))
    ports = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        columns = line.split()
        if columns[3] == "0A" and columns[9] in inodes:
            ports.add(int(columns[1].partition(":")[2], 16))
    return sorted(ports)


def varint(number):
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    data.append(number)
    return bytes(data)


def parameters(metadata):
    """Encode metadata as dora does: postcard, a map of text to bool, integer or text."""
    data = varint(len(metadata))
    for key, value in sorted(metadata.items()):
        data += varint(len(key)) + key.encode()
        if isinstance(value, int):
            data += b"\x01" + varint(value * 2 if value >= 0 else -value * 2 - 1)
        else:
            data += b"\x02" + varint(len(value)) + value.encode()
    return data


class Foreigner:
    """A zenoh client that no dataflow knows, connected to every listener of a run."""

    def __init__(self, run):
        pids = [run.pid(name) for name in ("simulator", "gate", "policy", "trace")]
        config = zenoh.Config()
        config.insert_json5("scouting/multicast/enabled", "false")
        endpoints = [f"tcp/127.0.0.1:{port}" for port in listening_ports(pids)]
        config.insert_json5("connect/endpoints", json.dumps(endpoints))
        self.session = zenoh.open(config)
        self.heard = []
        self._subscriber = self.session.declare_subscriber("dora/**", self._hear)

    def _hear(self, sample):
        attachment = sample.attachment.to_bytes() if sample.attachment else b""
        self.heard.append((str(sample.key_expr), sample.payload.to_bytes(), attachment))

    def wait_for_traffic(self, run, text="/output/"):
        run.wait_for(lambda: any(text in key and b"_framing" in a for key, _, a in self.heard))

    def put(self, key, payload, attachment):
        self.session.put(
            key, payload, attachment=attachment, express=True, priority=zenoh.Priority.REAL_TIME
        )

    def send(self, output, payload, metadata):
        """Send an Arrow payload with metadata as if a node of the graph had."""
        key, _, attachment = next(h for h in self.heard if b"\x08_framing" in h[2])
        head = attachment[: attachment.index(b"\x08_framing") - 1]
        stream = io.BytesIO()
        batch = pa.record_batch([payload], names=["data"])
        with pa.ipc.new_stream(stream, batch.schema) as writer:
            writer.write_batch(batch)
        target = re.sub(r"/output/.*", f"/output/{output}", key)
        self.put(
            target, stream.getvalue(), head + parameters({"_framing": "arrow-ipc", **metadata})
        )


def forged(run_id="x", number=0, key=b"k" * 32):
    """Return a command that would swing the first joint by half a rad, with a seal of our own."""
    position = np.tile([0, -0.5, 0, -2.2, 0, 1.8, 0.7], (60, 1))
    position[:, 0] = np.linspace(0, 0.5, 60)
    zeros = np.zeros_like(position)
    now_ns = time.monotonic_ns()
    command = AdmittedCommand(
        run=run_id,
        number=number,
        task="t",
        start_ns=now_ns + 20_000_000,
        continues=-1,
        period_ns=10_000_000,
        position=position,
        velocity=zeros,
        acceleration=zeros,
        stop_index=59,
        not_after_ns=now_ns + 10**9,
    )
    return seal(command, key)


def stamp(seq):
    now_ns = time.monotonic_ns()
    return {"source": "gate", "seq": seq, "observed_ns": now_ns, "sent_ns": now_ns}


@pytest.fixture
def idle(start, tmp_path):
    """Start a run in which nobody moves the arm: ``idle(backpressure=False)``."""

    def begin(*, backpressure=False, **environ):
        dataflow = yaml.safe_load((ROOT / "configs/dataflows/noop.yml").read_text())
        for node in dataflow["nodes"]:
            node["path"] = str((ROOT / "configs/dataflows" / node["path"]).resolve())
            if node["id"] == "policy":
                node["env"]["DURATION_S"] = 60
            if node["id"] == "trace" and backpressure:
                # Any such reader moves the whole output to the path through the daemon.
                node["inputs"]["gate_command"]["queue_policy"] = "backpressure"
        file = tmp_path / "idle.yml"
        file.write_text(yaml.safe_dump(dataflow))
        run = start(file, *(["--anyway"] if backpressure else []), **environ)
        run.wait_for(lambda: len(states(run)) > 20, within_s=60)
        return run

    return begin


def states(run):
    return Trace(run.run_dir).of(RobotState)


def assert_unmoved(run, *, refused_at_least=1, deaf=()):
    """End the run; the arm never moved, and what was tried is counted."""
    run.press_ctrl_c()
    assert run.end(within_s=10) == 130, run.output
    assert set(run.outcome["killed"]) <= set(deaf)
    positions = np.array([s.message.position for s in states(run)])
    assert np.abs(positions - positions[0]).max() < 1e-3
    driver = json.loads((run.run_dir / "driver.json").read_text())
    assert driver["executing"] == -1
    assert driver["refused"] >= refused_at_least, run.output
    return driver


@pytest.mark.parametrize("backpressure", [False, True], ids=["direct", "daemon"])
def test_a_forged_frame_of_a_foreign_client_does_not_move_the_arm(idle, backpressure):
    run = idle(backpressure=backpressure)
    foreigner = Foreigner(run)
    foreigner.wait_for_traffic(run)
    for seq in range(20):
        payload, metadata = encode(forged(number=seq))
        foreigner.send("gate/command", payload, metadata | stamp(seq))
        time.sleep(0.02)
    time.sleep(0.5)
    foreigner.session.close()
    driver = assert_unmoved(run)
    assert driver["refusals"]["bad_seal"] >= 1


def test_a_flood_of_garbage_neither_moves_the_arm_nor_ends_the_driver(idle):
    run = idle()
    foreigner = Foreigner(run)
    foreigner.wait_for_traffic(run)
    random = np.random.default_rng(5)
    payload, metadata = encode(forged())
    for seq in range(3000):
        foreigner.send("gate/command", payload, metadata | stamp(seq))
        wrong = pa.array(random.integers(0, 255, 64, dtype=np.uint8))
        foreigner.send("gate/command", wrong, {"message": "AdmittedCommand"} | stamp(seq))
        foreigner.send("gate/command", wrong, {"seq": "x"})
    time.sleep(1.0)
    foreigner.session.close()
    count = len(states(run))
    run.wait_for(lambda: len(states(run)) > count)  # the driver still tells its state
    assert_unmoved(run)


def test_a_recorded_command_sent_again_is_refused_and_the_task_succeeds(start):
    run = start(ROOT / "dataflow.yml")
    run.wait_for(lambda: len(states(run)) > 5, within_s=60)
    foreigner = Foreigner(run)
    run.wait_for(lambda: sum("gate/command" in h[0] for h in foreigner.heard) > 10, within_s=30)
    recorded = [h for h in foreigner.heard if h[0].endswith("gate/command")]
    for key, payload, attachment in recorded * 3:
        foreigner.put(key, payload, attachment)
    time.sleep(0.2)
    foreigner.session.close()
    run.end(within_s=90)
    driver = json.loads((run.run_dir / "driver.json").read_text())
    assert driver["refusals"].get("replay", 0) >= 1
    executed = [s.message.executing for s in states(run)]
    assert executed == sorted(executed)  # nothing old was ever executed again


def test_a_stolen_node_configuration_does_not_move_the_arm(idle, tmp_path):
    run = idle()
    environ = Path(f"/proc/{run.pid('gate')}/environ").read_bytes().split(b"\0")
    config = next(x for x in environ if x.startswith(b"DORA_NODE_CONFIG=")).decode()
    thief = tmp_path / "thief.py"
    thief.write_text(
        "import sys, time\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import importlib.util as u\n"
        f"s = u.spec_from_file_location('attacks', {__file__!r})\n"
        "m = u.module_from_spec(s); s.loader.exec_module(m)\n"
        "from dora import Node\n"
        "node = Node()\n"
        "for seq in range(20):\n"
        "    payload, metadata = m.encode(m.forged(number=seq))\n"
        "    node.send_output('command', payload, metadata | m.stamp(seq))\n"
        "    time.sleep(0.02)\n"
        "print('sent', flush=True)\n"
        "import os; os._exit(0)\n"
    )
    done = subprocess.run(
        [sys.executable, str(thief)],
        env={**os.environ, "DORA_NODE_CONFIG": config.partition("=")[2]},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    time.sleep(0.5)
    sent = "sent" in done.stdout
    # dora may now tell the thief instead of the Gate that the run ends.
    assert_unmoved(run, refused_at_least=1 if sent else 0, deaf=["gate"])
