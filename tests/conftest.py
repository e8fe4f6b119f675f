"""A run written with the real writer, message by message."""

import numpy as np
import pytest

from interlock.messages import Image, Output, Received, RobotState
from interlock.operators.trace import Trace, TraceMeta, TraceOptions, TraceWriter

MS = 1_000_000


class Plant:
    """Numbers, stamps and records messages as the nodes of a run would."""

    def __init__(self, folder, **options):
        self.folder = folder
        options = TraceOptions(**({"background": False} | options))
        self.writer = TraceWriter(folder, TraceMeta(run_id="planted"), options)
        self.seqs = {}

    def send(self, edge, message, at_ms, *, basis=(), observed_ms=None, wire_ms=0.5):
        """Record one message; return it as its consumers hold it."""
        source, _, output = edge.rpartition("/")
        seq = self.seqs.get(edge, 0)
        self.seqs[edge] = seq + 1
        out = Output(
            output=output,
            message=message,
            basis=tuple(r.basis for r in basis),
            observed_ns=None if observed_ms is None else int(observed_ms * MS),
        )
        now_ns = int(at_ms * MS)
        stamp = out.stamp(source=source, seq=seq, now_ns=now_ns)
        received_ns = now_ns + int(wire_ms * MS)
        received = Received(message=message, stamp=stamp, output=output, received_ns=received_ns)
        self.writer.add(source, output, received)
        return received

    def lose(self, edge, count=1):
        """Number messages that never arrive."""
        self.seqs[edge] = self.seqs.get(edge, 0) + count

    def trace(self):
        """Close the writer and open what it wrote."""
        self.writer.close()
        return Trace(self.folder)


@pytest.fixture
def plant(tmp_path):
    return Plant(tmp_path / "run")


@pytest.fixture
def planted(tmp_path):
    return lambda **options: Plant(tmp_path / f"run{len(list(tmp_path.iterdir()))}", **options)


def state(**changes):
    zeros = np.zeros(7)
    fields = {
        "position": zeros,
        "velocity": zeros,
        "commanded_position": zeros,
        "commanded_velocity": zeros,
        "commanded_acceleration": zeros,
        "gripper_width_m": 0.08,
        "gripper_target_m": 0.08,
        "gripper_force_n": 0.0,
        "world_from_tool": np.array([0.5, 0, 0.4, 1, 0, 0, 0]),
        "tool_speed_mps": 0.0,
        "at_rest": True,
    }
    return RobotState(**(fields | changes))


def picture(value=7, shape=(24, 32, 3)):
    return Image(pixels=np.full(shape, value, np.uint8), camera="top", fovy_deg=45.0)


@pytest.fixture
def make():
    """Messages with all their fields filled in: ``make.state()``, ``make.picture()``."""

    class Make:
        pass

    Make.state = staticmethod(state)
    Make.picture = staticmethod(picture)
    return Make
