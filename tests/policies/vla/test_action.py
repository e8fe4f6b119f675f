"""What an answer means: signs, units, frames, anchors (field cases C05, B08)."""

import dataclasses

import numpy as np
import pytest

from interlock.messages.settings import build
from interlock.operators.rotations import (
    REPRESENTATIONS,
    inverse,
    multiply,
    rotate,
    wxyz_from_axis_angle,
)
from interlock.policies.vla.action import ActionDecoder
from interlock.policies.vla.errors import PolicyError, ReplyError
from interlock.policies.vla.preset import Preset
from interlock.policies.vla.preset_files import load_preset

JOINTS = {"target": "joints", "index": [0, 1, 2, 3, 4, 5, 6], "unit": "rad"}
Z_QUARTER = np.array([0.0, 0.0, np.pi / 2])


def decoder(panda, *parts, rate_hz=20, **action):
    width = sum(len(p["index"]) for p in parts)
    data = {"width": width, "rate_hz": rate_hz, "parts": list(parts), **action}
    base = {"name": "x/y", "doc": "d", "wire": {"kind": "openpi"}}
    return ActionDecoder(build(Preset, {**base, "action": data}, where="x"), panda)


def hand(target, size, **options):
    first = 0 if target == "hand_position" else 3
    return {"target": target, "index": list(range(first, first + size)), **options}


def test_absolute_joints_are_taken_as_they_are_with_the_gripper_last(panda, snapshot):
    decode = ActionDecoder(load_preset("interlock/panda"), panda)
    actions = np.linspace(-1, 1, 16).reshape(2, 8).astype(np.float32)
    chunk = decode.decode(actions, snapshot)
    np.testing.assert_allclose(chunk.rows[:, :7], actions[:, :7], atol=1e-7)
    np.testing.assert_allclose(chunk.rows[:, 7], np.clip(actions[:, 7], 0, 1) * 0.08, atol=1e-8)
    assert (chunk.period_ns, chunk.observation_id, chunk.observed_ns) == (50_000_000, 5, 1_000)
    assert chunk.origin.tolist() == [*snapshot.state["joint_position"], 0.06]
    assert decode.columns.discrete == (7,)


def test_the_three_ways_of_being_relative_differ(panda, snapshot):
    steps = np.full((3, 7), 0.1)
    start = snapshot.state["joint_position"]
    expected = {
        "delta": [0.1, 0.2, 0.3],
        "chunk_start": [0.1, 0.1, 0.1],
        "velocity": [0.005, 0.010, 0.015],
    }
    for mode, moved in expected.items():
        part = {**JOINTS, "mode": mode, "unit": "rad/s" if mode == "velocity" else "rad"}
        chunk = decoder(panda, part).decode(steps, snapshot)
        np.testing.assert_allclose(chunk.rows - start, np.outer(moved, np.ones(7)))


def test_a_lagging_robot_does_not_move_the_anchor_of_a_chunk(panda, snapshot):
    decode = decoder(panda, {**JOINTS, "mode": "chunk_start"})
    actions = np.full((50, 7), 0.2)
    chunk = decode.decode(actions, snapshot)
    lagging = dataclasses.replace(
        snapshot, state={**snapshot.state, "joint_position": snapshot.state["joint_position"] - 0.2}
    )
    again = decode.decode(actions, lagging)
    start = snapshot.state["joint_position"]
    np.testing.assert_allclose(chunk.rows, np.tile(start + 0.2, (50, 1)))
    np.testing.assert_allclose(again.rows, chunk.rows - 0.2)


def test_the_anchor_may_be_the_commanded_state_and_must_be_there(panda, snapshot):
    decode = decoder(panda, {**JOINTS, "mode": "chunk_start"}, anchor="commanded")
    rows = decode.decode(np.zeros((1, 7)), snapshot).rows
    np.testing.assert_allclose(rows[0], snapshot.state["joint_position"] + 0.2)
    del snapshot.state["commanded_joint_position"]
    with pytest.raises(PolicyError, match="no state 'commanded_joint_position'"):
        decode.decode(np.zeros((1, 7)), snapshot)


def test_libero_deltas_move_along_the_base_axes_by_five_centimetres(panda, snapshot):
    decode = ActionDecoder(load_preset("openpi/pi05_libero"), panda)
    actions = np.array([[1.0, 0, 0, 0, 0, 1.0, -1.0], [0, -1.0, 0, 0, 0, 0, 1.0]])
    chunk = decode.decode(actions, snapshot)
    start = snapshot.state["hand_position"]
    np.testing.assert_allclose(chunk.rows[:, :3] - start, [[0.05, 0, 0], [0.05, -0.05, 0]])
    turned = multiply(chunk.rows[0, 3:7], inverse(snapshot.state["hand_orientation"]))
    np.testing.assert_allclose(turned, wxyz_from_axis_angle(np.array([0, 0, 0.5])), atol=1e-12)
    assert chunk.rows[:, 7].tolist() == [0.08, 0.0]


@pytest.mark.parametrize("form", REPRESENTATIONS)
def test_absolute_rotations_are_read_in_every_form(panda, snapshot, form):
    size = REPRESENTATIONS[form].size
    decode = decoder(
        panda,
        hand("hand_position", 3, mode="absolute", frame="base", unit="m"),
        hand("hand_rotation", size, mode="absolute", frame="base", form=form, unit="rad"),
    )
    wanted = multiply(wxyz_from_axis_angle(Z_QUARTER), snapshot.state["hand_orientation"])
    row = np.concatenate([[0.4, 0.1, 0.2], REPRESENTATIONS[form].from_wxyz(wanted)])
    rows = decode.decode(row[np.newaxis], snapshot).rows
    assert abs(rows[0, 3:] @ wanted) == pytest.approx(1.0, abs=1e-6)


def test_tool_frame_deltas_follow_the_tool_as_it_turns(panda, snapshot):
    decode = decoder(
        panda,
        hand("hand_position", 3, mode="delta", frame="tool", unit="m"),
        hand("hand_rotation", 3, mode="delta", frame="tool", form="axis_angle", unit="rad"),
    )
    step = np.concatenate([[0.1, 0, 0], Z_QUARTER])
    chunk = decode.decode(np.stack([step, step]), snapshot)
    start, turn = snapshot.state["hand_orientation"], wxyz_from_axis_angle(Z_QUARTER)
    first = rotate(start, np.array([0.1, 0, 0]))
    second = rotate(multiply(start, turn), np.array([0.1, 0, 0]))
    position = snapshot.state["hand_position"]
    np.testing.assert_allclose(chunk.rows[0, :3], position + first, atol=1e-12)
    np.testing.assert_allclose(chunk.rows[1, :3], position + first + second, atol=1e-12)


def test_without_a_rotation_the_hand_keeps_its_attitude(panda, snapshot):
    part = hand("hand_position", 3, mode="delta", frame="base", unit="cm")
    rows = decoder(panda, part).decode(np.ones((2, 3)), snapshot).rows
    np.testing.assert_allclose(rows[1, 3:], snapshot.state["hand_orientation"])
    np.testing.assert_allclose(rows[:, 0], [0.51, 0.52])


@pytest.mark.parametrize(
    ("convention", "closed"),
    [("1=open, 0=closed", 0.1), ("1=closed, 0=open", 0.9), ("-1=open, 1=closed", 0.9)],
)
def test_the_gripper_closes_at_the_end_that_is_named_closed(panda, snapshot, convention, closed):
    grip = {"target": "gripper", "index": [7], "gripper": convention, "threshold": 0.5}
    decode = decoder(panda, {**JOINTS, "mode": "absolute"}, grip)
    row = np.zeros((1, 8))
    row[0, 7] = closed
    assert decode.decode(row, snapshot).rows[0, 7] == 0.0
    row[0, 7] = -closed if "-1" in convention else 1 - closed
    assert decode.decode(row, snapshot).rows[0, 7] == pytest.approx(0.08)


def test_columns_are_reordered_signed_and_scaled_as_named(panda, snapshot):
    part = {
        **JOINTS,
        "index": [6, 5, 4, 3, 2, 1, 0],
        "mode": "absolute",
        "unit": "deg",
        "sign": [-1],
    }
    rows = decoder(panda, part).decode(np.arange(7.0)[np.newaxis], snapshot).rows
    np.testing.assert_allclose(rows[0], -np.deg2rad(np.arange(7.0)[::-1]))


@pytest.mark.parametrize(("sent", "hint"), [(32, "padded_width"), (6, "another robot")])
def test_a_row_of_another_width_is_refused_with_expected_and_got(panda, snapshot, sent, hint):
    decode = ActionDecoder(load_preset("interlock/panda"), panda)
    with pytest.raises(ReplyError, match=rf"action width: expected 8, got {sent}.*{hint}"):
        decode.decode(np.zeros((50, sent)), snapshot)


def test_declared_padding_is_never_looked_at(panda, snapshot):
    decode = decoder(panda, {**JOINTS, "mode": "absolute"}, padded_width=32)
    padded = np.full((2, 32), 1e30)
    padded[:, :7] = 0.5
    chunk = decode.decode(padded, snapshot)
    assert chunk.rows.tolist() == [[0.5] * 7] * 2
    assert chunk.raw.shape == (2, 7)


def test_a_rotation_that_is_none_is_refused(panda, snapshot):
    decode = decoder(
        panda,
        hand("hand_position", 3, mode="absolute", frame="base", unit="m"),
        hand("hand_rotation", 4, mode="absolute", frame="base", form="quaternion_xyzw"),
    )
    with pytest.raises(ReplyError, match=r"hand_rotation as quaternion_xyzw.*no rotation"):
        decode.decode(np.zeros((1, 7)), snapshot)
