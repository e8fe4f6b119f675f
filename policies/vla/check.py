"""One careful look before the first motion: what the policy sees, and what one answer would do."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interlock.policies.vla.action import ActionDecoder
from interlock.policies.vla.client import PolicyClient
from interlock.policies.vla.fit import check_chunk, check_metadata, check_robot
from interlock.policies.vla.observation import ObservationBuilder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlock.operators.chunk_mix import Chunk
    from interlock.policies.vla.preset import Preset
    from interlock.policies.vla.robot import RobotContract, Snapshot

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Track:
    """One decoded column over the chunk, against what the robot allows.

    Attributes:
        name: What it is, with its unit.
        values: From where the robot is to the last row, shape (horizon + 1,).
        low: Lowest value allowed; None for no limit known here.
        high: Highest value allowed.
        speed: Highest speed allowed, per s.
        period_s: Time from one value to the next, in s.
    """

    name: str
    values: Array
    low: float | None = None
    high: float | None = None
    speed: float | None = None
    period_s: float = 0.05

    def notes(self) -> list[str]:
        """Return every limit that the chunk would break, with value, limit and row."""
        found = []
        for limit, broken in ((self.low, np.less), (self.high, np.greater)):
            if limit is not None and np.any(broken(self.values[1:], limit)):
                row = int(np.argmax(broken(self.values[1:], limit)))
                found.append(
                    f"{self.name}: row {row} is {self.values[row + 1]:.4g}, limit {limit:.4g}"
                )
        if self.speed is not None:
            speeds = np.abs(np.diff(self.values)) / self.period_s
            row = int(np.argmax(speeds))
            if not speeds[row] <= self.speed:
                found.append(
                    f"{self.name}: to row {row} at {speeds[row]:.3g} per s, limit {self.speed:.3g}"
                )
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Look:
    """Everything the page shows.

    Attributes:
        preset: The preset, overrides applied.
        robot: The robot it was checked against.
        snapshot: What the robot was like.
        pictures: By key, after turning and resizing, RGB.
        state: By key, ``(label, value)`` per number, in the model's units.
        metadata: What the server said about itself.
        chunk: The decoded answer; None when the server was not asked.
        tracks: Its columns.
        timings_ms: What took how long, in ms.
    """

    preset: Preset
    robot: RobotContract
    snapshot: Snapshot
    pictures: Mapping[str, NDArray[np.uint8]]
    state: Mapping[str, list[tuple[str, float]]]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    chunk: Chunk | None = None
    tracks: tuple[Track, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)

    def notes(self) -> list[str]:
        """Return every limit that the answer would break; the Gate would refuse there."""
        return [note for track in self.tracks for note in track.notes()]


async def look(
    preset: Preset,
    robot: RobotContract,
    snapshot: Snapshot,
    *,
    token: str | None = None,
    ask: bool = True,
) -> Look:
    """Check the fit, build the observation, and unless told otherwise ask the server once.

    Raises:
        SetupError: The first disagreement of preset, robot and server; nothing has moved.
        PolicyError: The server could not be asked.
    """
    check_robot(preset, robot)
    loop = asyncio.get_running_loop()
    builder = ObservationBuilder(preset, robot)
    started = loop.time()
    observation = builder.build(snapshot)
    built = loop.time()
    seen = Look(
        preset=preset,
        robot=robot,
        snapshot=snapshot,
        pictures=builder.pictures(snapshot),
        state={
            key: list(zip(builder.labels(key), builder.state(key, snapshot).tolist(), strict=True))
            for key, f in preset.observation.fields.items()
            if f.state
        },
        timings_ms={"preprocessing": 1e3 * (built - started)},
    )
    return await _asked(seen, observation, token) if ask else seen


async def _asked(seen: Look, observation: Mapping[str, Any], token: str | None) -> Look:
    preset, robot, snapshot = seen.preset, seen.robot, seen.snapshot
    loop = asyncio.get_running_loop()
    async with PolicyClient(preset.wire, token) as client:
        check_metadata(preset, client.metadata)
        await client.reset("check")
        answer = await client.infer(observation, observation_id=snapshot.id)
        metadata = client.metadata
    check_chunk(preset, answer.reply.actions)
    started = loop.time()
    decoder = ActionDecoder(preset, robot)
    chunk = decoder.decode(answer.reply.actions, snapshot)
    decoded_ms = 1e3 * (loop.time() - started)
    return Look(
        preset=preset,
        robot=robot,
        snapshot=snapshot,
        pictures=seen.pictures,
        state=seen.state,
        metadata=metadata,
        chunk=chunk,
        tracks=tuple(tracks(chunk, decoder.space, robot)),
        timings_ms={
            **seen.timings_ms,
            "first inference (warm-up)": 1e3 * answer.roundtrip_s,
            **{f"server {k}": v for k, v in answer.reply.timing_ms.items()},
            "postprocessing": decoded_ms,
        },
    )


def tracks(chunk: Chunk, space: str, robot: RobotContract) -> list[Track]:
    """Return every column of a decoded chunk with the limits of the robot."""
    values = np.vstack([chunk.origin, chunk.rows])
    period_s = chunk.period_ns / 1e9
    found = []
    if space == "joint":
        for i, name in enumerate(robot.joint_names):
            found.append(
                Track(
                    name=f"{name} [rad]",
                    values=values[:, i],
                    low=float(robot.joint_low[i]),
                    high=float(robot.joint_high[i]),
                    speed=float(robot.joint_speed[i]),
                    period_s=period_s,
                )
            )
    else:
        names = ("x [m]", "y [m]", "z [m]", "qw", "qx", "qy", "qz")
        found = [Track(name=n, values=values[:, i], period_s=period_s) for i, n in enumerate(names)]
    for column in range(len(found), values.shape[1]):
        found.append(
            Track(
                name="gripper [m]",
                values=values[:, column],
                low=0.0,
                high=robot.gripper_max_m,
                period_s=period_s,
            )
        )
    return found
