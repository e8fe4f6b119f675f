import asyncio

import numpy as np
import pytest

from interlock.messages import (
    MessageError,
    ObjectPoses,
    Received,
    StaleDataError,
    Stamp,
    WorldValue,
)
from interlock.operators.world import MAX_VALUE_BYTES, World

MS = 1_000_000


def received(message, *, seq=0, now_ns=0, source="tracker", output="objects"):
    stamp = Stamp(source=source, seq=seq, observed_ns=now_ns, sent_ns=now_ns)
    return Received(message=message, stamp=stamp, output=output, received_ns=now_ns)


def poses(x, *, observed_ns, confidence=1.0):
    return ObjectPoses(
        names=("cup_red",),
        world_from_object=np.array([[x, 0, 0, 1, 0, 0, 0.0]]),
        confidence=np.array([confidence]),
        observed_ns=np.array([observed_ns]),
    )


def test_a_fresh_object_is_read_under_its_name():
    world = World()
    world.put(received(poses(0.5, observed_ns=0)))
    entry = world.read("cup_red", max_age_ms=100, now_ns=50 * MS)
    assert entry.value.world_from_object[0] == 0.5
    assert (entry.source, entry.basis.output) == ("tracker", "objects")


def test_a_value_older_than_its_reader_allows_is_an_error_that_says_by_how_much():
    world = World()
    world.put(received(poses(0.5, observed_ns=0)))
    with pytest.raises(StaleDataError, match=r"'cup_red' from 'tracker' is 150 ms old.*100 ms"):
        world.read("cup_red", max_age_ms=100, now_ns=150 * MS)


def test_a_value_that_never_came_is_an_error():
    with pytest.raises(StaleDataError, match="was never received"):
        World().read("cup_red", max_age_ms=100, now_ns=0)


def test_a_pose_that_the_tracker_only_repeats_does_not_become_fresh():
    world = World()
    world.put(received(poses(0.5, observed_ns=0)))
    changed = world.put(received(poses(0.5, observed_ns=0), seq=1, now_ns=500 * MS))
    assert changed == ()
    with pytest.raises(StaleDataError):
        world.read("cup_red", max_age_ms=100, now_ns=500 * MS)


@pytest.mark.parametrize("confidence", [0.1, float("nan")])
def test_a_pose_that_its_tracker_does_not_trust_counts_as_not_seen(confidence):
    world = World()
    assert world.put(received(poses(0.5, observed_ns=0, confidence=confidence))) == ()


def test_a_pose_kept_is_a_copy_of_the_received_buffer():
    world, message = World(), poses(0.5, observed_ns=0)
    world.put(received(message))
    message.world_from_object[0, 0] = 9.0
    assert world.latest("cup_red").value.world_from_object[0] == 0.5


def test_a_value_from_a_person_is_read_as_data():
    world = World()
    value = WorldValue(key="goal", value='{"on": "tray"}')
    world.put(received(value, source="person", output="value"))
    assert world.read("goal", max_age_ms=10, now_ns=0).value == {"on": "tray"}


@pytest.mark.parametrize("text", ["{", '"' + "x" * MAX_VALUE_BYTES + '"'])
def test_a_value_that_is_no_json_or_too_large_is_refused(text):
    with pytest.raises(MessageError, match="world value 'goal' from 'person'"):
        World().put(received(WorldValue(key="goal", value=text), source="person"))


def test_next_waits_for_a_value_that_is_newer():
    async def program(world):
        waiting = asyncio.ensure_future(world.next("cup_red", "cup_blue"))
        await asyncio.sleep(0)
        world.put(received(poses(0.7, observed_ns=1 * MS)))
        return await waiting

    entry = asyncio.run(program(World()))
    assert entry.value.world_from_object[0] == 0.7


def test_changes_yields_the_newest_value_and_ends_with_the_task():
    async def program(world):
        task = asyncio.ensure_future(asyncio.sleep(0.01))
        for x in (0.1, 0.2):
            asyncio.get_running_loop().call_soon(
                world.put, received(poses(x, observed_ns=int(x * 10 * MS)))
            )
        return [
            e.value.world_from_object[0] async for e in world.changes("cup_red", while_running=task)
        ]

    assert asyncio.run(program(World())) == [0.2]
