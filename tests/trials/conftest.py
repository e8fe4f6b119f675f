"""What tests of trials share: their own signing key, and served episodes."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from trial_worlds import Served, make_task, why_no_walls

from interlock.trials.task import Task


@pytest.fixture(autouse=True)
def _own_key(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_STATE", str(tmp_path_factory.getbasetemp() / "state"))


#: None are shipped; the models that the tests name cost this much here.
PRICES = """
checked: "2026-11-30"
models:
  anthropic/claude-sonnet-5: {input: 3.0, output: 15.0, images: true}
  openai/gpt-6-astra: {input: 5.0, output: 20.0, images: true}
  gemini/gemini-4-argon: {input: 2.0, output: 12.0, images: true}
  glm/glm-5.3: {input: 0.6, output: 2.2, images: false}
"""


@pytest.fixture(autouse=True)
def _prices(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path_factory.getbasetemp() / "prices.yml"
    file.write_text(PRICES)
    monkeypatch.setenv("INTERLOCK_PRICES", str(file))


@pytest.fixture(scope="session")
def walls() -> str:
    """Why no sandbox works here, or ""."""
    return why_no_walls()


@pytest.fixture(autouse=True)
def _agents_run_anyway(walls: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a sandbox, agents are tested without; tests of the walls themselves skip."""
    if walls:
        monkeypatch.setenv("INTERLOCK_SANDBOX", "0")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Return a function that serves a task; all are closed at the end."""
    running: list[Served] = []

    def start(task: Task | None = None, *, slow: bool = False) -> Served:
        folder = tmp_path / f"s{len(running)}"
        folder.mkdir()
        running.append(Served(folder, task or make_task(), slow=slow))
        return running[-1]

    yield start
    for served in running:
        served.close()
