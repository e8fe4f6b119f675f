"""What `interlock doctor` tries: what works, what does not, and the command that mends it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.cli.environment import port_in_use, python_problems, version_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Shared memory that pictures between nodes need, in bytes.
SHM_BYTES = 256 * 2**20
#: Ports of `dora up`.
DORA_PORTS = {6013: "coordinator", 53291: "daemon"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was tried.

    Attributes:
        what: Its name.
        ok: True when it works.
        text: What was found, in one sentence.
        mend: Command that mends it; empty when it works or nothing can.
        needed: False when a run works without it.
    """

    what: str
    ok: bool
    text: str
    mend: str = ""
    needed: bool = True


def python() -> Iterator[Finding]:
    """Look at the interpreter."""
    found = f"{sys.version.split()[0]} at {sys.prefix}"
    yield Finding(
        what="python",
        ok=sys.version_info >= (3, 11),
        text=found,
        mend="install Python 3.11 or newer",
    )
    for problem in python_problems():
        yield Finding(
            what="python for plain dora",
            ok=False,
            text=problem,
            mend=f". {sys.prefix}/bin/activate",
            needed=False,
        )


def dora() -> Iterator[Finding]:
    """Look at the versions of dora."""
    problems = list(version_problems())
    mend = f"{sys.executable} -m pip install --force-reinstall dora-rs==1.1.0 dora-rs-cli==1.1.0"
    for problem in problems:
        yield Finding(what="dora", ok=False, text=problem, mend=mend)
    if not problems:
        yield Finding(what="dora", ok=True, text="dora-rs and dora-rs-cli 1.1.0 agree")


def mujoco() -> Iterator[Finding]:
    """Step a model in a process of its own."""
    code = (
        "import mujoco as m; x = m.MjModel.from_xml_string('<mujoco/>'); "
        "m.mj_step(x, m.MjData(x)); print(m.__version__)"
    )
    done = _try([sys.executable, "-c", code])
    text = f"version {done.stdout.strip()} steps a model" if done.returncode == 0 else _last(done)
    mend = f"{sys.executable} -m pip install 'mujoco>=4,<5'"
    yield Finding(what="mujoco", ok=done.returncode == 0, text=text, mend=mend)


def sandbox() -> Iterator[Finding]:
    """Try the tools that isolate a policy."""
    words = ["bwrap", "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "true"]
    if shutil.which("bwrap") is None:
        text, ok, mend = "not installed", False, "apt-get install bubblewrap"
    else:
        done = _try(words)
        ok = done.returncode == 0
        text = "runs a program apart" if ok else _last(done)
        mend = "sysctl kernel.unprivileged_userns_clone=1 (on the host, as root)"
    yield Finding(what="bwrap", ok=ok, text=text, mend=mend, needed=False)
    found = shutil.which("setpriv")
    yield Finding(
        what="setpriv",
        ok=found is not None,
        text=found or "not installed",
        mend="apt-get install util-linux",
        needed=False,
    )


def ports() -> Iterator[Finding]:
    """Look whether the ports of `dora up` are free."""
    for port, role in DORA_PORTS.items():
        busy = port_in_use(port)
        text = f"{role} port {port} is {'in use (a running dora up?)' if busy else 'free'}"
        yield Finding(what="port", ok=not busy, text=text, mend="dora down", needed=False)


def clock() -> Iterator[Finding]:
    """Measure how late this host wakes a sleeper, and whether its clock can be right."""
    late_ms = []
    for _ in range(100):
        began = time.monotonic_ns()
        time.sleep(0.001)
        late_ms.append((time.monotonic_ns() - began) / 1e6 - 1.0)
    late_ms.sort()
    text = f"sleeps of 1 ms wake {late_ms[50]:.2f} ms late (median), {late_ms[-2]:.2f} ms (worst)"
    mend = "end other programs, or use a host with free cores"
    yield Finding(what="clock", ok=late_ms[-2] < 20.0, text=text, mend=mend, needed=False)
    right = time.time() > 1_700_000_000
    mend = "set the clock: timedatectl set-ntp true"
    if not right:
        yield Finding(what="clock", ok=False, text="the date is before 2023", mend=mend)


def memory() -> Iterator[Finding]:
    """Look at shared memory and disk space."""
    shm = Path("/dev/shm")
    free = shutil.disk_usage(shm).free if shm.is_dir() else 0
    text = f"{free / 2**20:.0f} MiB of shared memory free, {SHM_BYTES / 2**20:.0f} needed"
    mend = "mount -o remount,size=1g /dev/shm (container: docker run --shm-size=1g)"
    yield Finding(what="/dev/shm", ok=free >= SHM_BYTES, text=text, mend=mend)
    disk = shutil.disk_usage(Path.cwd()).free
    text = f"{disk / 2**30:.1f} GiB free here for traces"
    yield Finding(what="disk", ok=disk >= 2**30, text=text, mend="free some space")
    cores = len(os.sched_getaffinity(0))
    yield Finding(
        what="cores",
        ok=cores >= 2,
        text=f"{cores} available, 2 needed for real time",
        mend="give this container more cores",
        needed=False,
    )


def _try(words: list[str]) -> subprocess.CompletedProcess[str]:
    # A wrong MUJOCO_GL fails `import mujoco`; it is a finding of its own.
    environ = {k: v for k, v in os.environ.items() if k != "MUJOCO_GL"}
    try:
        return subprocess.run(
            words,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 1, "", str(error))


def _last(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"ended with code {done.returncode}"
