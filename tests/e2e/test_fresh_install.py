"""The README's first command, in an empty virtual environment and outside this checkout."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from interlock.cli.run_processes import processes_of

pytestmark = pytest.mark.dora
ROOT = Path(__file__).parents[2]


def run(words, folder, **environ):
    clean = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")}
    done = subprocess.run(
        words,
        cwd=folder,
        env={**clean, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_installed_from_a_clone_the_default_dataflow_picks_and_places_the_cup(tmp_path):
    clone = tmp_path / "clone"
    run(["git", "clone", "-q", str(ROOT), str(clone)], tmp_path)
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    run([str(python), "-m", "pip", "install", "-q", "."], clone)
    # As after `activate`, except that PATH is left alone: the command finds its own environment.
    said = run([str(python.with_name("interlock")), "start", "dataflow.yml"], clone)
    assert "succeeded" in said
    assert "finished after" in said
    [run_dir] = (clone / "runs").iterdir()
    assert (run_dir / "trace" / "summary.json").is_file()
    assert processes_of(run_dir) == []
    # Nothing of the installed package came from the checkout.
    where = "import interlock.gate as g; print(g.__file__)"
    assert str(tmp_path / "env") in run([str(python), "-c", where], tmp_path)


def test_lockstep_gives_the_same_digest_twice(tmp_path):
    interlock = [sys.executable, "-m", "interlock.cli.main"]
    words = [*interlock, "lockstep", str(ROOT / "dataflow.yml"), "--seed", "7"]
    digests = {run(words, tmp_path).splitlines()[-1] for _ in range(2)}
    assert len(digests) == 1
    assert len(digests.pop()) == 64
