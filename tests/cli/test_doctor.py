import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from interlock.cli.environment import port_in_use, python_of_dora
from interlock.cli.findings import Finding

DOCTOR = [sys.executable, "-m", "interlock.cli.main", "doctor"]


def doctor(*words, **environ):
    return subprocess.run(
        [*DOCTOR, *words],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_a_misspelt_gl_back_end_is_named_with_the_command_that_mends_it():
    done = doctor(MUJOCO_GL="elg")
    assert done.returncode == 1
    assert "FAIL  gl MUJOCO_GL: elg: did you mean 'egl'?" in done.stdout
    assert "ok    mujoco: version" in done.stdout  # physics does not depend on it
    assert "Traceback" not in done.stdout + done.stderr


def test_the_findings_are_json_for_scripts():
    found = [Finding(**f) for f in json.loads(doctor("--json").stdout)]
    assert {"python", "dora", "mujoco", "gl egl", "bwrap", "clock", "/dev/shm"} <= {
        f.what for f in found
    }
    assert all(f.mend for f in found if not f.ok)


def test_a_port_that_something_listens_on_is_in_use():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert port_in_use(port)
    assert not port_in_use(port)


def test_dora_uses_the_python_that_uv_python_names():
    environ = {**os.environ, "UV_PYTHON": sys.executable}
    assert Path(python_of_dora(environ)).parent == Path(sys.executable).parent
