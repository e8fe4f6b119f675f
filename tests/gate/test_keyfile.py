import subprocess
import sys

import pytest

from interlock.gate.errors import KeyFileError
from interlock.gate.keyfile import key_path, run_key


@pytest.fixture(autouse=True)
def private_runtime_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("INTERLOCK_KEY_FILE", raising=False)


def test_gate_and_driver_get_the_same_key_and_another_run_another():
    code = "from interlock.gate.keyfile import run_key; print(run_key('a').hex())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run_key("a").hex() == other.stdout.strip()
    assert run_key("a") != run_key("b")


def test_only_its_user_can_read_it():
    run_key("a")
    assert key_path("a").stat().st_mode & 0o777 == 0o600
    assert key_path("a").parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_key_that_others_can_read_or_write_is_refused(mode):
    run_key("a")
    key_path("a").chmod(mode)
    with pytest.raises(KeyFileError, match="mode 0600"):
        run_key("a")


def test_a_folder_open_to_others_is_refused():
    run_key("a")
    key_path("a").parent.chmod(0o755)
    with pytest.raises(KeyFileError, match="mode 0700"):
        run_key("a")


def test_a_short_key_and_a_link_are_refused(tmp_path):
    run_key("a")
    key_path("a").write_bytes(b"short")
    with pytest.raises(KeyFileError, match="32 bytes"):
        run_key("a")
    key_path("b").symlink_to(key_path("a"))
    with pytest.raises(KeyFileError):
        run_key("b")


def test_a_run_id_is_not_a_path():
    with pytest.raises(KeyFileError, match="can't name a file"):
        run_key("../a")


def test_the_place_can_be_chosen(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERLOCK_KEY_FILE", str(tmp_path / "my.key"))
    assert run_key("a") == run_key("b") == (tmp_path / "my.key").read_bytes()
