"""What skills need to know of an arm; the node fills it in from `robots/`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]


class Limits(Protocol):
    """Limits of every joint, each of shape (n_joints,)."""

    @property
    def position_low(self) -> Vector:
        """Smallest joint position, in rad."""

    @property
    def position_high(self) -> Vector:
        """Largest joint position, in rad."""

    @property
    def velocity(self) -> Vector:
        """Largest speed, in rad/s."""

    @property
    def acceleration(self) -> Vector:
        """Largest acceleration, in rad/s^2."""

    @property
    def jerk(self) -> Vector:
        """Largest jerk, in rad/s^3."""


class Arm(Protocol):
    """Kinematics and limits of one arm."""

    @property
    def limits(self) -> Limits:
        """Limits of its joints."""

    @property
    def home(self) -> Vector:
        """Joint positions it rests at, shape (n_joints,), in rad."""

    @property
    def open_width_m(self) -> float:
        """Largest distance between the fingers, in m."""

    def forward(self, position: Vector) -> Vector:
        """Return world_from_tool, shape (7,), for joint positions of shape (n_joints,), in rad."""

    def inverse(self, world_from_tool: Vector, seed: Vector) -> Vector | None:
        """Return joint positions near ``seed`` that reach a pose, or None."""
