"""Camera and tracker nodes on states of the simulated world."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interlock.messages import Image, Output, Received, RobotState
from interlock.nodes._node import Context
from interlock.nodes.camera import CameraNode
from interlock.nodes.simulator import SimulatorNode
from interlock.nodes.tracker import TrackerNode


def context(folder: Path, node_id: str) -> Context:
    return Context(node_id=node_id, run_id="test", run_dir=folder, lockstep=True)


def received(out: Output, source: str, now_ns: int = 100) -> Received[Any]:
    stamp = out.stamp(source=source, seq=0, now_ns=now_ns)
    return Received(message=out.message, stamp=stamp, output=out.output, received_ns=now_ns)


@pytest.fixture
def simulator(tmp_path: Path) -> SimulatorNode:
    node = SimulatorNode(SimulatorNode.Settings(), context(tmp_path, "simulator"))
    list(node.on_start(0))
    return node


def state_of(simulator: SimulatorNode, now_ns: int) -> Received[RobotState]:
    [state] = [o for o in simulator.on_tick(now_ns) if o.output == "state"]
    return received(state, "simulator", now_ns)


def camera(folder: Path, **settings: Any) -> CameraNode:
    node = CameraNode(CameraNode.Settings(**settings), context(folder, "camera"))
    list(node.on_start(0))
    return node


def test_one_cast_gives_three_pictures_of_the_state_that_was_received(
    tmp_path: Path, simulator: SimulatorNode
) -> None:
    state = state_of(simulator, 20_000_000)
    node = camera(tmp_path, width=64, height=48)
    list(node.on_state(state, 0))
    outputs = {o.output: o for o in node.on_tick(0)}
    assert set(outputs) == {"image", "depth", "segmentation"}
    for out in outputs.values():
        assert isinstance(out.message, Image)
        assert out.message.pixels.shape[:2] == (48, 64)
        assert out.basis == (state.basis,)
        assert out.stamp(source="camera", seq=0, now_ns=9).observed_ns == 20_000_000


def test_a_state_is_drawn_once(tmp_path: Path, simulator: SimulatorNode) -> None:
    node = camera(tmp_path, width=16, height=16)
    assert list(node.on_tick(0)) == []
    list(node.on_state(state_of(simulator, 20_000_000), 0))
    assert len(list(node.on_tick(0))) == 3
    assert list(node.on_tick(0)) == []


def test_a_camera_of_another_scene_says_what_to_change(
    tmp_path: Path, simulator: SimulatorNode
) -> None:
    node = camera(tmp_path, width=16, height=16, scene="conveyor")
    list(node.on_state(state_of(simulator, 20_000_000), 0))
    assert node.failed.endswith("give camera and simulator the same SCENE")


@pytest.mark.parametrize("source", ["camera", "truth"])
def test_the_tracker_finds_the_cups(tmp_path: Path, simulator: SimulatorNode, source: str) -> None:
    state = state_of(simulator, 20_000_000)
    tracker = TrackerNode(TrackerNode.Settings(source=source), context(tmp_path, "tracker"))
    outputs = list(tracker.on_state(state, 0))
    if source == "camera":
        assert outputs == []
        node = camera(tmp_path)
        list(node.on_state(state, 0))
        for out in node.on_tick(0):
            if out.output in ("image", "depth"):
                outputs += getattr(tracker, f"on_{out.output}")(received(out, "camera"), 0)
    [out] = outputs
    objects = out.message
    truth = simulator.driver.world.object_poses()
    for name, pose in zip(objects.names, objects.world_from_object, strict=True):
        assert np.linalg.norm(pose[:3] - truth[name][:3]) < 0.003
    assert set(objects.observed_ns.tolist()) == {20_000_000}


def test_a_depth_of_another_instant_is_not_paired(tmp_path: Path, simulator: SimulatorNode) -> None:
    tracker = TrackerNode(TrackerNode.Settings(), context(tmp_path, "tracker"))
    node = camera(tmp_path, width=64, height=64)
    list(node.on_state(state_of(simulator, 20_000_000), 0))
    first = {o.output: received(o, "camera") for o in node.on_tick(0)}
    list(node.on_state(state_of(simulator, 40_000_000), 0))
    second = {o.output: received(o, "camera") for o in node.on_tick(0)}
    list(tracker.on_image(first["image"], 0))
    assert list(tracker.on_depth(second["depth"], 0)) == []


def test_a_dead_camera_is_told_once(tmp_path: Path) -> None:
    tracker = TrackerNode(TrackerNode.Settings(), context(tmp_path, "tracker"))
    assert list(tracker.on_closed("image", "ended", 0)) == []
    [told] = list(tracker.on_closed("image", "died: killed by signal 9", 0))
    assert "sees nothing any more: image died: killed by signal 9" in told.message.text
    assert list(tracker.on_closed("depth", "died: killed by signal 9", 0)) == []
