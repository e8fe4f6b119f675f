"""Messages of another machine, of a foreign node, and of somebody who pretends."""

import datetime
from typing import Any

import numpy as np
import pytest

from interlock.messages import Basis, Command, Heartbeat, MessageError, ObjectPoses, Stamp, encode
from interlock.nodes._arrival import Arrival, clock_id

NOW = datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC)
RECEIVED_NS = 5_000_000_000
MS = 1_000_000


class Clock:
    """dora's clock, 30 ms after everything here was sent."""

    def timestamp(self) -> datetime.datetime:
        return NOW + datetime.timedelta(milliseconds=30)


def event(message: Any, clock: str | None, *, source: str = "policy") -> dict[str, Any]:
    """What arrives; its sender's clock reads 900 s when it is sent."""
    payload, metadata = encode(message)
    basis = Basis(
        source="tracker",
        output="objects",
        seq=3,
        observed_ns=900_000 * MS - 70 * MS,
        received_ns=900_000 * MS - 20 * MS,
    )
    stamp = Stamp(
        source=source,
        seq=1,
        observed_ns=900_000 * MS - 70 * MS,
        sent_ns=900_000 * MS,
        basis=(basis,),
    )
    metadata |= stamp.to_metadata() | {"timestamp": NOW} | ({"clock": clock} if clock else {})
    return {"value": payload, "metadata": metadata, "received_ns": RECEIVED_NS}


def read(message: Any, clock: str | None) -> Any:
    return Arrival(Clock(), "ours").read(event(message, clock), "policy/command")


def test_times_of_another_machine_are_read_on_our_clock() -> None:
    received = read(Heartbeat(owner="x"), "theirs")
    assert received.stamp.sent_ns == RECEIVED_NS - 30 * MS
    assert received.age_ns(RECEIVED_NS) == 100 * MS
    assert received.stamp.basis[0].received_ns == RECEIVED_NS - 50 * MS


@pytest.mark.parametrize("clock", ["ours", None])
def test_times_of_our_own_machine_are_left_as_they_are(clock: str | None) -> None:
    assert read(Heartbeat(owner="x"), clock).stamp.sent_ns == 900_000 * MS


def test_the_times_within_a_message_are_shifted_too() -> None:
    command = Command(task="t", space="hold", start_ns=900_000 * MS + 40 * MS)
    got = read(command, "theirs").message
    assert (got.start_ns, got.deadline_ns) == (RECEIVED_NS + 10 * MS, 0)
    poses = ObjectPoses(
        names=("cup",),
        world_from_object=np.zeros((1, 7)),
        confidence=np.ones(1),
        observed_ns=np.array([900_000 * MS - 70 * MS]),
    )
    assert read(poses, "theirs").message.observed_ns.tolist() == [RECEIVED_NS - 100 * MS]


def test_a_message_that_names_another_node_as_its_source_is_refused() -> None:
    with pytest.raises(MessageError, match="policy/command: it says that it comes from 'gate'"):
        Arrival(Clock(), "ours").read(
            event(Heartbeat(owner="x"), None, source="gate"), "policy/command"
        )


def test_this_machine_has_one_clock() -> None:
    assert clock_id() == clock_id() != ""
