"""The tracker on dora's own messages, as the Operator uses it."""

import dataclasses
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interlock.messages import Image, MessageError, Output, SettingsError, Stamp, decode, encode
from interlock.nodes.tracker import target_of
from interlock.operators.tracker_stream import TrackerStream
from interlock.robots.ray_camera import RayCamera
from interlock.robots.scene import build_scene
from interlock.robots.scene_settings import shipped_scene
from interlock.robots.world import SimWorld

SCENE = build_scene(shipped_scene("tabletop"), 0)
TARGETS = json.dumps([dataclasses.asdict(target_of(o)) for o in SCENE.objects])


def sent_pictures(observed_ns: int) -> list[tuple[str, Any, dict[str, Any]]]:
    """What a camera node sends: input id, payload, metadata."""
    world = SimWorld(SCENE)
    picture = RayCamera(world.model, "front", width=160, height=160).render(world.data)
    view = {"fovy_deg": picture.view.fovy_deg, "world_from_camera": picture.view.world_from_camera}
    found = []
    for name, pixels, encoding in (
        ("image", picture.rgb, "rgb8"),
        ("depth", picture.depth_m, "32FC1"),
    ):
        payload, metadata = encode(Image(pixels=pixels, encoding=encoding, **view))
        out = Output(output=name, message=None, observed_ns=observed_ns)
        found.append(
            (name, payload, metadata | out.stamp(source="camera", seq=3, now_ns=9).to_metadata())
        )
    return found


def test_a_pair_of_pictures_gives_stamped_objects() -> None:
    stream = TrackerStream(TARGETS)
    image, depth = sent_pictures(5)
    assert stream.take(*image, now_ns=20) == []
    [(output, payload, metadata)] = stream.take(*depth, now_ns=30)
    objects = decode(payload, metadata, where="tracker/objects")
    stamp = Stamp.from_metadata(metadata, where="tracker/objects")
    assert (output, objects.names) == ("objects", ("cup_red", "cup_blue"))
    assert (stamp.observed_ns, [b.output for b in stamp.basis]) == (5, ["image", "depth"])
    truth = SCENE.layout["cup_red"]
    assert np.linalg.norm(objects.world_from_object[0, :3] - truth[:3]) < 0.004


def test_pictures_of_two_instants_are_no_pair() -> None:
    stream = TrackerStream(TARGETS)
    stream.take(*sent_pictures(5)[0], now_ns=20)
    assert stream.take(*sent_pictures(6)[1], now_ns=30) == []


@pytest.mark.parametrize("text", ["", "{}", '[{"name": "x"}]', "[1]"])
def test_broken_targets_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="TARGETS: expected a JSON list"):
        TrackerStream(text)


def test_a_malformed_picture_is_named() -> None:
    name, payload, metadata = sent_pictures(5)[0]
    with pytest.raises(MessageError, match="camera/image: Image rgb8"):
        TrackerStream(TARGETS).take(name, payload[:5], metadata, now_ns=1)


def test_the_operator_file_passes_messages_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGETS", TARGETS)
    file = Path(__file__).parents[2] / "operators" / "tracker_op.py"
    spec = importlib.util.spec_from_file_location("tracker_op_under_test", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    operator, sent = module.Operator(), []
    for name, payload, metadata in sent_pictures(5):
        event = {"type": "INPUT", "id": name, "value": payload, "metadata": metadata}
        operator.on_event(event, lambda *args: sent.append(args))
    stop = operator.on_event({"type": "STOP"}, None)
    assert [args[0] for args in sent] == ["objects"]
    assert stop == module.DoraStatus.STOP
