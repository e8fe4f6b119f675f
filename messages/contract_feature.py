"""One feature of a contract: what an array is, and whether a value fits it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages import contract_schema as schema
from interlock.messages.contract_read import (
    check_keys,
    read_bounds,
    read_names,
    read_order,
    read_shape,
    read_symbol,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One array of an observation, or the action.

    Attributes:
        name: Key on the wire, e.g. ``"observation/image"``.
        role: ``"observation"`` or ``"action"``.
        type: Image type, ``"language"``, or a coarse kind of action; None for a plain vector.
        dtype: Name of the dtype on the wire; None if it is not declared.
        shape: Sizes without a batch dimension; None if they are not declared.
        names: One name per number of a vector; empty if they are not declared.
        low: Smallest accepted value per number, shape (width,); None without limits.
        high: Largest accepted value per number, shape (width,); None without limits.
        state_type: ``SPACE_REF_QUANTITY``, e.g. ``"JOINT_ABS_POS"``.
        representation: How the numbers stand for the quantity, or the image layout.
        frame: Frame of Cartesian values.
        raw: The feature as it was written, for the wire.
    """

    name: str
    role: str
    type: str | None = None
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    names: tuple[str, ...] = ()
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None
    state_type: str | None = None
    representation: str | None = None
    frame: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_image(self) -> bool:
        """True for a camera: rgb, bgr, gray or depth."""
        return self.type in schema.IMAGE_TYPES or (self.type is None and self.dtype == "image")

    @property
    def width(self) -> int | None:
        """Return how many numbers the vector holds, from the shape or else from the names."""
        if self.shape is not None:
            return int(np.prod(self.shape))
        return len(self.names) or None

    @property
    def is_absolute(self) -> bool | None:
        """True for absolute targets, False for deltas and rates, None if the kind is not stated."""
        if self.state_type is not None:
            _, reference, quantity = self.state_type.split("_")
            return reference == "ABS" and quantity in ("POS", "POSE", "ROT", "PD")
        coarse = {"ee_abs": True, "joint_pos": True, "ee_del": False, "joint_del": False}
        return coarse.get(self.type or "")

    def problems(self, value: object) -> list[str]:
        """Return what is wrong with a value of this feature: dtype, shape, not finite."""
        if self.dtype == "string" or self.type == "language":
            return [] if isinstance(value, str) else [f"{self.name}: expected text"]
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            return [f"{self.name}: expected numbers, got {array.dtype}"]
        found = []
        if self.dtype not in (None, "image") and array.dtype != np.dtype(self.dtype or "f4"):
            found.append(f"{self.name}: dtype {array.dtype}, the contract says {self.dtype}")
        if self.shape is not None and array.shape != self.shape:
            found.append(
                f"{self.name}: shape {list(array.shape)}, the contract says {list(self.shape)}"
            )
        if array.dtype.kind == "f" and self.type != "depth" and not np.isfinite(array).all():
            found.append(f"{self.name}: holds NaN or infinity")
        return found


def read_feature(name: str, data: object, where: str, problems: list[str]) -> Feature:
    """Read one feature; what is wrong with it is added to ``problems``."""
    if not isinstance(data, dict):
        problems.append(f"{where}: expected an object, got {type(data).__name__}")
        return Feature(name=name, role="")
    check_keys(data, schema.FEATURE_KEYS, where=where, problems=problems)
    if name in schema.RESERVED_KEYS:
        problems.append(f"{where}: the wire uses this key itself; give the feature another name")
    role = read_symbol(data, "role", schema.ROLES, where, problems, required=True)
    kind = read_symbol(data, "type", (*schema.IMAGE_TYPES, *schema.OTHER_TYPES), where, problems)
    shape = read_shape(data, where, problems)
    names = read_names(data, shape, kind in schema.IMAGE_TYPES, where, problems)
    state_type = read_symbol(data, "state_type", schema.STATE_TYPES, where, problems)
    representation = read_symbol(
        data, "state_representation", schema.all_representations(), where, problems
    )
    _check_representation(state_type, representation, kind, shape, where, problems)
    width = int(np.prod(shape)) if shape else len(names) or None
    low, high = read_bounds(data, "limits", width, where, problems)
    read_bounds(data, "stats", width, where, problems)
    read_order(data, width, where, problems)
    return Feature(
        name=name,
        role=role or "",
        type=kind,
        dtype=read_symbol(data, "dtype", schema.DTYPES, where, problems),
        shape=shape,
        names=names,
        low=low,
        high=high,
        state_type=state_type,
        representation=representation,
        frame=read_symbol(data, "frame", schema.FRAMES, where, problems),
        raw=data,
    )


def _check_representation(
    state_type: str | None,
    representation: str | None,
    kind: str | None,
    shape: tuple[int, ...] | None,
    where: str,
    problems: list[str],
) -> None:
    if representation is None:
        return
    if kind in schema.IMAGE_TYPES:
        allowed: tuple[str, ...] = schema.LAYOUTS
    elif state_type is None:
        return
    elif state_type.startswith("GRIPPER"):
        allowed = schema.GRIPPER_REPRESENTATIONS
    else:
        allowed = schema.REPRESENTATIONS[state_type.rsplit("_", 1)[1]]
    if representation not in allowed:
        problems.append(
            f"{where}: state_representation {representation!r} does not fit "
            f"{state_type or kind!r}; one of {', '.join(allowed)}"
        )
