"""The closed symbol sets of contract v0, and its JSON schema made from them."""

from __future__ import annotations

from typing import Any

VERSION = "v0"
ROLES = ("observation", "action")
DTYPES = (
    "uint8",
    "uint16",
    "float16",
    "float32",
    "float64",
    "int32",
    "int64",
    "string",
    "image",
)
IMAGE_TYPES = ("rgb", "bgr", "gray", "depth")
#: Coarse kinds of action and text, beside the image types.
OTHER_TYPES = ("language", "state", "ee_abs", "ee_del", "joint_pos", "joint_del", "discrete")
LAYOUTS = ("HWC", "CHW", "THWC", "TCHW")
SPACES = ("JOINT", "GRIPPER", "EE", "BASE")
REFERENCES = ("ABS", "DEL")
QUANTITIES = ("POS", "POSE", "ROT", "VEL", "ROTVEL", "TWIST", "EFF", "PD", "ACC")
STATE_TYPES = tuple(f"{s}_{r}_{q}" for s in SPACES for r in REFERENCES for q in QUANTITIES)
TRANSLATIONS = ("XYZ",)
ROTATIONS = ("EULXYZ", "EULZYX", "QUATWXYZ", "QUATXYZW", "AXISANGLE", "SO3", "ROT6D")
_RATES = ("OMEGAXYZ", "EULXYZRATE", "EULZYXRATE")
#: Representations per quantity; REAL fits every quantity.
REPRESENTATIONS: dict[str, tuple[str, ...]] = {
    "POS": ("XYZ", "REAL"),
    "ROT": (*ROTATIONS, "REAL"),
    "POSE": (*(f"{t}_{r}" for t in TRANSLATIONS for r in ROTATIONS), "REAL"),
    "VEL": ("XYZRATE", "REAL"),
    "ROTVEL": (*_RATES, "REAL"),
    "TWIST": (*(f"XYZRATE_{r}" for r in _RATES), "REAL"),
    "EFF": ("REAL", "XYZ"),
    "PD": ("REAL", "XYZ"),
    "ACC": ("REAL", "XYZ"),
}
GRIPPER_REPRESENTATIONS = ("BINARY", "NORM01", "NORM11", "REAL")
#: Numbers each representation takes; the others take any count.
WIDTHS = {
    "XYZ": 3,
    "EULXYZ": 3,
    "EULZYX": 3,
    "QUATWXYZ": 4,
    "QUATXYZW": 4,
    "AXISANGLE": 3,
    "SO3": 9,
    "ROT6D": 6,
    "XYZRATE": 3,
    "OMEGAXYZ": 3,
    "EULXYZRATE": 3,
    "EULZYXRATE": 3,
}
FRAMES = ("base", "world", "camera", "eef")
ROBOT_CLASSES = (
    "arm6g1",
    "arm7g1",
    "bimanual6g1",
    "bimanual7g1",
    "humanoid",
    "quadruped",
    "mobile_manip",
    "unclassed",
    "multi",
)
UNITS = ("rad", "deg", "m", "s", "N", "none")
#: Sibling keys of an observation on the wire, which no feature may take.
RESERVED_KEYS = ("reward", "terminated", "meta", "error")

TOP_KEYS = ("version", "robot_type", "robot_class", "control_rate", "features", "comment")
FEATURE_KEYS = (
    "role",
    "type",
    "dtype",
    "shape",
    "names",
    "order",
    "stats",
    "limits",
    "state_type",
    "state_representation",
    "frame",
    "units",
    "kp",
    "kd",
    "padding",
    "comment",
)


def all_representations() -> tuple[str, ...]:
    """Return every state representation and image layout, once each."""
    found = dict.fromkeys(LAYOUTS)
    for names in (*REPRESENTATIONS.values(), GRIPPER_REPRESENTATIONS):
        found.update(dict.fromkeys(names))
    return tuple(found)


def json_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a contract."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Interlock robot contract v0",
        "type": "object",
        "required": ["features"],
        "additionalProperties": False,
        "properties": {
            "version": {"const": VERSION},
            "robot_type": {"type": ["string", "null"]},
            "robot_class": {"enum": list(ROBOT_CLASSES)},
            "control_rate": {"type": "number", "exclusiveMinimum": 0, "maximum": 10_000},
            "comment": {"type": "string"},
            "features": {
                "type": "object",
                "propertyNames": {"not": {"enum": list(RESERVED_KEYS)}},
                "additionalProperties": _feature_schema(),
            },
        },
    }


def _feature_schema() -> dict[str, Any]:
    size = {"type": "integer", "minimum": 1}
    named = {"type": "array", "items": {"type": "string"}}
    return {
        "type": "object",
        "required": ["role"],
        "additionalProperties": False,
        "properties": {
            "role": {"enum": list(ROLES)},
            "type": {"enum": [*IMAGE_TYPES, *OTHER_TYPES]},
            "dtype": {"enum": list(DTYPES)},
            "shape": {"type": "array", "items": size, "minItems": 1},
            "names": named,
            "order": {"type": "string", "pattern": "^[0-9]+-[0-9]+$"},
            "stats": _numbers_schema(("mean", "std", "min", "max"), nullable=True),
            "limits": _numbers_schema(("min", "max"), nullable=False),
            "state_type": {"enum": list(STATE_TYPES)},
            "state_representation": {"enum": list(all_representations())},
            "frame": {"enum": list(FRAMES)},
            "units": {"type": ["string", "array"]},
            "kp": {"type": ["number", "array"]},
            "kd": {"type": ["number", "array"]},
            "padding": {},
            "comment": {"type": "string"},
        },
    }


def _numbers_schema(keys: tuple[str, ...], *, nullable: bool) -> dict[str, Any]:
    values: list[dict[str, Any]] = [
        {"type": "array", "items": {"type": ["number", "null"]}},
        {"type": "number"},
    ]
    if nullable:
        values.append({"type": "null"})
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {key: {"anyOf": values} for key in keys},
    }
