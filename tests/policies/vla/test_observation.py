"""What the model sees: pictures, units, orders, forms, nesting (field cases B01, B03)."""

import base64

import numpy as np
import pytest

from interlock.messages.settings import build
from interlock.operators.images import decode_png, resize_with_pad
from interlock.operators.rotations import axis_angle_from_wxyz, wxyz_from_axis_angle
from interlock.policies.vla.card import letter_card as card
from interlock.policies.vla.codec import pack, unpack
from interlock.policies.vla.errors import PolicyError
from interlock.policies.vla.observation import ObservationBuilder
from interlock.policies.vla.preset import Preset
from interlock.policies.vla.preset_files import load_preset, preset_names

#: 30 degrees about (1, 2, 3).
TILTED = wxyz_from_axis_angle(np.deg2rad(30) * np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0))


def built(panda, snapshot, fields, *, nested=False, **kw):
    data = {"fields": fields, "nested": nested}
    preset = build(
        Preset,
        {"name": "x/y", "doc": "d", "wire": {"kind": "openpi"}, "observation": data, **kw},
        where="x",
    )
    return ObservationBuilder(preset, panda).build(snapshot)


def state_of(panda, snapshot, **part):
    field = {"state": [part], "dtype": "float64"}
    return built(panda, snapshot, {"k": field})["k"]


def test_libero_sees_what_openpis_example_shows_it(panda, snapshot):
    preset = load_preset("openpi/pi05_libero")
    seen = ObservationBuilder(preset, panda).build(snapshot)
    # robosuite's raw frame is upside down; openpi's example turns it by 180 degrees.
    raw = card()[::-1]
    expected = resize_with_pad(np.ascontiguousarray(raw[::-1, ::-1]), height=224, width=224)
    difference = np.abs(seen["observation/image"].astype(int) - expected)
    assert difference.max() <= 1
    hand = snapshot.state["hand_position"]
    turn = axis_angle_from_wxyz(TILTED)
    np.testing.assert_allclose(seen["observation/state"], [*hand, *turn, 0.03, -0.03], atol=1e-6)
    assert seen["observation/state"].dtype == np.float32
    assert seen["prompt"] == snapshot.prompt


@pytest.mark.parametrize("name", [n for n in preset_names() if not n.endswith("/generic")])
def test_each_policy_sees_the_red_corner_where_its_preset_says(name, panda, snapshot):
    preset = load_preset(name)
    if preset.robots != ("panda",):
        pytest.skip("another robot")
    pictures = ObservationBuilder(preset, panda).pictures(snapshot)
    assert pictures
    for key, picture in pictures.items():
        red = (picture[..., 0] > 200) & (picture[..., 1] < 60)
        rows, columns = np.nonzero(red)
        assert rows.mean() < 0.4 * picture.shape[0]
        mirrored = preset.observation.fields[key].flip == "horizontal"
        assert (columns.mean() > 0.5 * picture.shape[1]) == mirrored


def test_quaternions_are_in_the_order_that_is_named(panda, snapshot):
    part = {"field": "hand_orientation", "unit": "1"}
    xyzw = state_of(panda, snapshot, form="quaternion_xyzw", **part)
    wxyz = state_of(panda, snapshot, form="quaternion_wxyz", **part)
    np.testing.assert_allclose(wxyz, TILTED, atol=1e-6)
    np.testing.assert_allclose(xyzw, [*TILTED[1:], TILTED[0]], atol=1e-6)


def test_angles_come_in_the_unit_that_is_named(panda, snapshot):
    part = {"field": "hand_orientation", "form": "axis_angle"}
    degrees = state_of(panda, snapshot, unit="deg", **part)
    assert np.linalg.norm(degrees) == pytest.approx(30.0)
    millimetres = state_of(panda, snapshot, field="hand_position", unit="mm")
    np.testing.assert_allclose(millimetres, [500, -100, 300])


@pytest.mark.parametrize(
    ("convention", "value"),
    [("1=open, 0=closed", 0.75), ("0=open, 1=closed", 0.25), ("-1=open, 1=closed", -0.5)],
)
def test_the_gripper_is_told_as_the_convention_says(panda, snapshot, convention, value):
    told = state_of(panda, snapshot, field="gripper_width", unit="1", gripper=convention)
    assert told.tolist() == [pytest.approx(value)]


def test_numbers_are_picked_in_order_then_signed_scaled_and_shifted(panda, snapshot):
    told = state_of(
        panda,
        snapshot,
        field="hand_position",
        unit="m",
        pick=[2, 0],
        sign=[-1, 1],
        scale=[10],
        offset=[1, 2],
    )
    np.testing.assert_allclose(told, [-10 * 0.3 + 1, 10 * 0.5 + 2])


def test_pictures_come_in_the_layout_colours_and_type_that_are_named(panda, snapshot):
    camera = {"camera": "front", "resize": [32, 24], "fit": "pad"}
    fields = {
        "chw": {**camera, "dtype": "uint8", "layout": "chw"},
        "bgr": {**camera, "dtype": "uint8", "colour": "bgr"},
        "float": {**camera, "dtype": "float32", "batch": 2},
    }
    seen = built(panda, snapshot, fields)
    assert seen["chw"].shape == (3, 24, 32)
    assert tuple(seen["bgr"][0, 0]) == (0, 0, 255)
    assert seen["float"].shape == (1, 1, 24, 32, 3)
    assert seen["float"].max() == 1.0
    assert seen["float"].dtype == np.float32


def test_a_png_holds_the_same_pixels(panda, snapshot):
    field = {"camera": "front", "dtype": "uint8", "encoding": "png_base64"}
    seen = built(panda, snapshot, {"k": field})
    np.testing.assert_array_equal(decode_png(base64.b64decode(seen["k"])), card())


def test_a_path_becomes_maps_only_where_the_preset_nests(panda, snapshot):
    fields = {"language/annotation.human.task_description": {"prompt": True, "nest": 2}}
    nested = built(panda, snapshot, fields, nested=True)
    assert nested == {"language": {"annotation.human.task_description": [[snapshot.prompt]]}}
    assert list(built(panda, snapshot, fields)) == list(fields)


def test_the_prefix_is_sent_only_to_those_who_take_it(panda, snapshot):
    for key in ("", "action_prefix"):
        preset = build(
            Preset,
            {"name": "x/y", "doc": "d", "wire": {"kind": "openpi"}, "chunks": {"prefix_key": key}},
            where="x",
        )
        seen = ObservationBuilder(preset, panda).build(snapshot, prefix=np.ones((3, 8)))
        assert list(seen) == ([key] if key else [])


def test_a_camera_without_a_picture_yet_is_named(panda, snapshot):
    snapshot.images.pop("wrist")
    builder = ObservationBuilder(load_preset("openpi/pi05_libero"), panda)
    with pytest.raises(
        PolicyError, match="no picture of camera 'wrist' yet; there are: front, side"
    ):
        builder.build(snapshot)


def test_every_observation_survives_its_wire(panda, snapshot):
    seen = ObservationBuilder(load_preset("openpi/droid"), panda).build(snapshot)
    back = unpack(pack(seen))
    assert sorted(back) == sorted(seen)
    np.testing.assert_array_equal(
        back["observation/exterior_image_1_left"], seen["observation/exterior_image_1_left"]
    )


def test_every_number_has_a_label_with_its_unit(panda, snapshot):
    builder = ObservationBuilder(load_preset("openpi/pi05_libero"), panda)
    labels = builder.labels("observation/state")
    assert labels[0] == "x [m]"
    assert labels[3] == "ax [rad]"
    assert len(labels) == builder.state("observation/state", snapshot).size
