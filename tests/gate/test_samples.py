"""States along an admitted motion: many at once are what one at a time says."""

import numpy as np
import pytest

from interlock.gate.samples import JointState, end_ns, path_at, rest_from, state_at
from interlock.messages import AdmittedCommand

MS = 1_000_000


@pytest.fixture(scope="module")
def motion() -> AdmittedCommand:
    """A smooth motion of three joints that ends at rest, 10 ms per sample, from 50 ms on."""
    t = np.linspace(0, 1, 31)[:, None]
    reach = np.array([[0.4, -0.2, 0.1]])
    return AdmittedCommand(
        run="r",
        number=0,
        task="t",
        start_ns=50 * MS,
        continues=-1,
        period_ns=10 * MS,
        position=1 + reach * t**3 * (10 - 15 * t + 6 * t**2),
        velocity=reach * 30 * t**2 * (1 - t) ** 2 / 0.3,
        acceleration=reach * 60 * t * (1 - t) * (1 - 2 * t) / 0.09,
        stop_index=20,
    )


@pytest.mark.parametrize("start_ms", [50.0, 53.7, 60.0, 211.1, 340.0, 349.9, 45.0, 30.0, 0.3])
def test_the_rest_of_a_motion_is_its_states_one_after_another(
    motion: AdmittedCommand, start_ms: float
) -> None:
    start_ns = int(start_ms * MS)
    steps = -(-(end_ns(motion) - start_ns) // motion.period_ns)
    one_by_one = [state_at(motion, start_ns + i * motion.period_ns) for i in range(steps + 1)]
    for many, one in zip(rest_from(motion, start_ns), zip(*one_by_one, strict=True), strict=True):
        assert many.shape == (steps + 1, 3)
        assert np.allclose(many, np.array(one), atol=1e-9)


def test_a_path_is_its_states_one_after_another(motion: AdmittedCommand) -> None:
    times = 45 * MS + 3_300_000 * np.arange(110)
    states = [state_at(motion, int(t)) for t in times]
    position, velocity = path_at(motion, times)
    assert np.allclose(position, [s.position for s in states], atol=1e-12)
    assert np.allclose(velocity, [s.velocity for s in states], atol=1e-9)


def test_between_samples_the_motion_is_smooth(motion: AdmittedCommand) -> None:
    h = 1e-6
    for time_ns in (57 * MS, 123 * MS + 456_789):
        a, b, c = (state_at(motion, time_ns + int(k * h * 1e9)) for k in (-1, 0, 1))
        assert isinstance(b, JointState)
        assert np.allclose((c.position - a.position) / (2 * h), b.velocity, atol=1e-5)
        assert np.allclose((c.velocity - a.velocity) / (2 * h), b.acceleration, atol=1e-3)
