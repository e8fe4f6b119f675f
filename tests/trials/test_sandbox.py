"""The attack suite: what an agent inside the walls tries, and what it gets."""

import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from trial_worlds import make_task

from interlock.trials.harness import Launch
from interlock.trials.plan import Plan
from interlock.trials.runner import run_trial
from interlock.trials.sandbox import Walls, bubblewrap_command, prepare_room
from interlock.trials.seatbelt import profile

Attack = Callable[[str], str]


@pytest.fixture
def attack(tmp_path: Path, walls: str) -> Attack:
    """Return a function that runs Python as the agent of a trial, and returns what it printed."""
    if walls:
        pytest.skip(walls)

    def run(code: str) -> str:
        program = tmp_path / "attack.py"
        program.write_text(code)
        out = tmp_path / "out"
        plan = Plan(task=make_task(), harness="program", out=out, policy_config=program)
        result = run_trial(plan)
        folder = out / plan.name()
        assert json.loads((folder / "config.json").read_text())["sandbox"] == "bubblewrap"
        assert result["reward"] in (0.0, None)
        agent = folder / "agent"
        return (agent / "stdout.txt").read_text() + (agent / "stderr.txt").read_text()

    return run


@pytest.fixture
def secret(tmp_path: Path) -> Iterator[Path]:
    """A file outside the workspace that no agent may see."""
    path = tmp_path / "secret.txt"
    path.write_text("THE-SECRET")
    yield path
    assert path.read_text() == "THE-SECRET"


def test_the_workspace_and_robo_work(attack: Attack) -> None:
    said = attack(
        "import subprocess\n"
        "open('mine', 'w').write('x')\n"
        "print(subprocess.run(['robo', 'status'], capture_output=True, text=True).stdout)"
    )
    assert '"finished": false' in said


def test_files_outside_cannot_be_read(attack: Attack, secret: Path) -> None:
    assert "No such file" in attack(f"print(open({str(secret)!r}).read())")


@pytest.mark.parametrize(
    "path", ["/root", "/home", "/work", "/etc/shadow", "/var", "~/.ssh", "~/.local/state/interlock"]
)
def test_homes_keys_and_other_trials_are_not_there(attack: Attack, path: str) -> None:
    full = str(Path(path).expanduser())
    said = attack(
        "import os\n"
        f"p = {full!r}\n"
        "seen = os.listdir(p) if os.path.isdir(p) else os.path.exists(p)\n"
        "print('SEEN', seen)"
    )
    # An interpreter below a home is there, and nothing beside the way to it.
    own = {part for part in Path(sys.base_prefix).parts + Path(sys.prefix).parts}
    listed = eval(said.split("SEEN", 1)[1])
    assert listed is False or set(listed) <= own


def test_our_tasks_with_their_solutions_cannot_be_imported(attack: Attack) -> None:
    said = attack("import interlock.trials.library as l\nprint(l.task_files())")
    assert "ModuleNotFoundError" in said or "ImportError" in said


def test_nothing_outside_can_be_written(attack: Attack, secret: Path) -> None:
    said = attack(
        "for p in ('/usr/local/bin/x', '/etc/x', '/run/interlock/bin/robo', "
        f"{str(secret)!r}, {sys.prefix + '/x'!r}):\n"
        "    try:\n        open(p, 'w').write('x'); print('WROTE', p)\n"
        "    except OSError as e: print('no', e)\n"
    )
    # What it makes in its own copy of a folder is gone with the trial.
    assert f"WROTE {sys.prefix}" not in said
    assert "WROTE /usr" not in said
    assert "WROTE /run" not in said


def test_other_processes_cannot_be_seen_or_signalled(attack: Attack) -> None:
    said = attack(
        "import os\n"
        "print('PIDS', sorted(int(p) for p in os.listdir('/proc') if p.isdigit()))\n"
        f"try:\n    os.kill({os.getpid()}, 0); print('REACHED')\n"
        "except OSError as e: print('no', e)\n"
    )
    pids = json.loads(said.split("PIDS ", 1)[1].splitlines()[0])
    assert len(pids) < 6
    assert os.getpid() not in pids or os.getpid() < 6
    assert "REACHED" not in said or os.getpid() < 6


def test_localhost_and_the_internet_cannot_be_reached(attack: Attack) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        reached = threading.Event()

        def accept() -> None:
            try:
                server.accept()
                reached.set()
            except OSError:
                return

        threading.Thread(target=accept, daemon=True).start()
        port = server.getsockname()[1]
        said = attack(
            "import socket\n"
            f"for a in (('127.0.0.1', {port}), ('1.1.1.1', 443), ('169.254.169.254', 80)):\n"
            "    try:\n        socket.create_connection(a, 2); print('REACHED', a)\n"
            "    except OSError as e: print('no', e)\n"
        )
        assert "REACHED" not in said
        assert not reached.is_set()


def test_abstract_and_other_unix_sockets_cannot_be_reached(attack: Attack, tmp_path: Path) -> None:
    gate = socket.socket(socket.AF_UNIX)
    gate.bind("\0interlock-gate")
    gate.listen()
    other = socket.socket(socket.AF_UNIX)
    other.bind(str(tmp_path / "gate.sock"))
    other.listen()
    said = attack(
        "import socket\n"
        f"for a in ('\\0interlock-gate', {str(tmp_path / 'gate.sock')!r}):\n"
        "    s = socket.socket(socket.AF_UNIX)\n"
        "    try:\n        s.connect(a); print('REACHED')\n"
        "    except OSError as e: print('no', e)\n"
    )
    gate.close()
    other.close()
    assert said.count("no [Errno") == 2


def test_shared_memory_is_its_own(attack: Attack) -> None:
    from multiprocessing import shared_memory

    ours = shared_memory.SharedMemory(name="interlock-test", create=True, size=16)
    try:
        said = attack("import os\nprint('SHM', os.listdir('/dev/shm'))")
    finally:
        ours.close()
        ours.unlink()
    assert "interlock-test" not in said


def test_capabilities_are_gone(attack: Attack) -> None:
    said = attack("print([r for r in open('/proc/self/status') if r.startswith('CapEff')])")
    assert "CapEff:\\t0000000000000000" in said


def test_denied_paths_are_hidden_even_in_readable_folders(
    attack: Attack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(json.__file__).parent
    monkeypatch.setenv("INTERLOCK_SANDBOX_DENY", str(folder / "tool.py"))
    said = attack(f"print('GOT', open({str(folder / 'tool.py')!r}).read(), 'END')")
    assert "GOT  END" in said or "Permission denied" in said


def test_the_mac_profile_denies_by_default_and_names_every_hole() -> None:
    text = profile(
        workspace=Path("/tmp/w"),
        readable=[Path("/opt/py")],
        sockets=[Path("/tmp/robo.sock")],
        hidden=[Path("/opt/py/secret")],
    )
    rules = text.splitlines()
    assert rules[:2] == ["(version 1)", "(deny default)"]
    assert '(allow file-read* file-write* (subpath "/tmp/w"))' in rules
    assert rules.index('(deny file-read* file-write* (subpath "/opt/py/secret"))') > rules.index(
        '(allow file-read* (subpath "/opt/py"))'
    )
    assert not any("allow network" in rule and "unix-socket" not in rule for rule in rules)
    with pytest.raises(ValueError, match="quotes"):
        profile(workspace=Path('/tmp/"'), readable=[], sockets=[], hidden=[])


def test_the_command_line_allows_only_what_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INTERLOCK_SANDBOX", raising=False)
    walls: Walls = prepare_room(tmp_path, sandboxed=True)
    command = bubblewrap_command(["true"], Launch(argv=("true",)), walls, sockets=[])
    bound = [command[i + 1] for i, word in enumerate(command) if word == "--bind"]
    assert bound == [str(walls.workspace), str(walls.socket)]
    assert {"--unshare-pid", "--unshare-net", "--unshare-ipc", "--die-with-parent"} <= set(command)
    assert "/" not in command
