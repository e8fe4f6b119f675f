from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.robots.bridge import RobotEndpoint, gym


@pytest.fixture(scope="session")
def robot() -> Iterator[RobotEndpoint]:
    """A served robot with four slots."""
    with gym(f"{Path(__file__).with_name('reach.py')}:make", num_envs=4) as endpoint:
        yield endpoint
