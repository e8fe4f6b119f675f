"""Presets: every one is read, complete, and refuses what it does not know."""

import pytest

from interlock.messages.errors import SettingsError
from interlock.messages.settings import build
from interlock.policies.vla.preset import Preset
from interlock.policies.vla.preset_files import load_preset, merge, preset_names

WANTED = [
    "gr00t/generic",
    "gr00t/so101",
    "http-json/generic",
    "interlock/panda",
    "lerobot/evo1_libero",
    "lerobot/groot_n1.7_libero",
    "lerobot/pi05_libero",
    "lerobot/pi0_libero",
    "lerobot/pi0fast_libero",
    "lerobot/smolvla_libero",
    "lerobot/vla_jepa_libero",
    "molmoact2/libero",
    "openpi/aloha",
    "openpi/droid",
    "openpi/generic",
    "openpi/pi05_libero",
    "openpi/pi0_libero",
    "openvla/openvla-7b-libero",
    "xpolicylab/generic",
    "xpolicylab/metal-joint",
    "xpolicylab/so101-joint",
]

BASE = {"name": "x/y", "doc": "d", "wire": {"kind": "openpi"}}
GRIPPER = {"target": "gripper", "index": [0]}


def test_every_wanted_preset_is_there():
    assert set(WANTED) <= set(preset_names())


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_names_its_gripper_rate_and_columns(name):
    preset = load_preset(name)
    assert preset.name == name
    assert preset.doc
    parts = preset.action.parts
    if not name.endswith("/generic"):
        columns = sorted(c for part in parts for c in part.index)
        assert columns == list(range(preset.action.width))
        assert preset.action.rate_hz > 0
    assert all(part.gripper for part in parts if part.target == "gripper")


def test_a_misspelt_preset_is_refused_with_the_nearest():
    with pytest.raises(SettingsError, match="did you mean 'openpi/pi05_libero'"):
        load_preset("openpi/pi05_liberoo")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("observations: {}", "unknown key 'observations'; did you mean 'observation'"),
        ("wire: {ulr: x}", "unknown key 'ulr'; did you mean 'url'"),
        ("action: {parts: [{target: joint, index: [0]}]}", "expected one of 'joints'"),
        ("chunks: {strategy: openloop}", "expected one of 'open_loop'"),
        ("wire: {step_budget_s: 0}", "step_budget_s is 0"),
    ],
)
def test_an_override_with_an_unknown_key_is_refused_with_the_nearest(tmp_path, text, said):
    path = tmp_path / "mine.yml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=said):
        load_preset("interlock/panda", config=path)


def test_an_override_changes_one_field_deep_down_and_leaves_the_rest(tmp_path):
    path = tmp_path / "mine.yml"
    path.write_text("observation: {fields: {observation/front: {flip: horizontal}}}")
    changed = load_preset("interlock/panda", config=path)
    original = load_preset("interlock/panda")
    assert changed.observation.fields["observation/front"].flip == "horizontal"
    assert changed.observation.fields["observation/front"].resize == (224, 224)
    assert changed.action == original.action


def test_the_environment_overrides_and_the_option_wins_over_it(tmp_path):
    (tmp_path / "a.yml").write_text("action: {rate_hz: 7}")
    (tmp_path / "b.yml").write_text("action: {rate_hz: 9}")
    environment = {
        "INTERLOCK_VLA_POLICY_CONFIG": str(tmp_path / "a.yml"),
        "INTERLOCK_VLA_URL": "ws://gpu-box:9000",
    }
    by_environment = load_preset("interlock/panda", environment=environment)
    by_option = load_preset("interlock/panda", config=tmp_path / "b.yml", environment=environment)
    assert (by_environment.action.rate_hz, by_option.action.rate_hz) == (7, 9)
    assert by_option.wire.url == "ws://gpu-box:9000"


def test_null_removes_an_inherited_key():
    assert merge({"a": {"x": 1, "y": 2}}, {"a": {"x": None, "z": 3}}) == {"a": {"y": 2, "z": 3}}
    fields = load_preset("lerobot/smolvla_libero").observation.fields
    assert "images/image2" in fields
    assert "images/wrist_image" not in fields


def test_a_preset_that_inherits_from_itself_is_refused(tmp_path):
    path = tmp_path / "loop.yml"
    path.write_text(f"inherit: {path}\ndoc: x")
    with pytest.raises(SettingsError, match="leads back here"):
        load_preset(str(path))


@pytest.mark.parametrize("text", ["open", "1=open", "1=open, 1=closed", "1=open, 0=open", "auto"])
def test_a_gripper_convention_that_does_not_name_both_ends_is_refused(text):
    part = {**GRIPPER, "gripper": text}
    with pytest.raises(SettingsError, match="does not name both ends"):
        build(Preset, {**BASE, "action": {"width": 1, "rate_hz": 10, "parts": [part]}}, where="x")


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (GRIPPER, "gripper needs its convention"),
        ({"target": "joints", "index": [0]}, "joints needs a mode"),
        ({"target": "hand_position", "index": [0, 1, 2], "mode": "delta"}, "needs a frame"),
        (
            {"target": "hand_rotation", "index": [0, 1, 2], "mode": "delta", "frame": "base"},
            "needs a form",
        ),
        (
            {
                "target": "hand_rotation",
                "index": [0, 1, 2],
                "mode": "delta",
                "frame": "base",
                "form": "quaternion_xyzw",
            },
            "takes 4 columns, index has 3",
        ),
        ({"target": "ignored", "index": [0, 0]}, "different columns"),
        ({"target": "ignored", "index": [0], "unit": "degrees"}, "unknown unit 'degrees'"),
        ({"target": "ignored", "index": [0], "sign": [2]}, "only 1 and -1 are signs"),
        ({"target": "ignored", "index": [0], "scale": [0.0]}, "finite and not 0"),
    ],
)
def test_what_is_never_defaulted_must_be_named(part, said):
    with pytest.raises(SettingsError, match=said):
        build(Preset, {**BASE, "action": {"width": 1, "rate_hz": 10, "parts": [part]}}, where="x")


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({}, "exactly one of camera, state, prompt and constant"),
        ({"camera": "a", "prompt": True}, "exactly one"),
        ({"camera": "a", "dtype": "uint8", "resize": [8, 8]}, "resize and fit"),
        ({"camera": "a"}, "a camera needs dtype"),
        ({"state": [{"field": "f", "unit": "m"}]}, "a state needs dtype"),
        ({"camera": "a", "dtype": "uint8", "rotate_deg": 45}, "expected one of 0, 90, 180, 270"),
    ],
)
def test_a_field_that_is_not_complete_is_refused(field, said):
    with pytest.raises(SettingsError, match=said):
        build(Preset, {**BASE, "observation": {"fields": {"k": field}}}, where="x")
