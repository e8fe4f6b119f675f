"""Run nodes of a dataflow in a sandbox: they see no other process and no key of the run."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
from typing import TYPE_CHECKING, Any

import yaml

from interlock.cli.dora_tool import DoraError, expand
from interlock.gate.keyfile import key_folder
from interlock.messages.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from interlock.gate.graph_nodes import GraphNode


@contextlib.contextmanager
def isolated(
    file: Path, nodes: Sequence[GraphNode], names: Sequence[str], run_dir: Path
) -> Iterator[Path]:
    """Yield the dataflow file to run: itself, or one beside it in which nodes run in bubblewrap.

    Args:
        file: The dataflow file.
        nodes: Its nodes.
        names: Ids of the nodes to isolate.
        run_dir: Folder of the run, in which they may write their own event and alive files only.

    Raises:
        DoraError: If a node can't be isolated, or bubblewrap is missing.
    """
    if not names:
        yield file
        return
    by_id = {n.id: n for n in nodes}
    for name in names:
        if name not in by_id:
            raise DoraError(f"--isolate {name}: no such node; {nearest(name, by_id)}")
        if by_id[name].role in ("gate", "driver", "trace"):
            raise DoraError(f"--isolate {name}: it needs the key or the run folder; isolate others")
        if by_id[name].file is None:
            raise DoraError(f"--isolate {name}: only Python node files can be isolated")
    if shutil.which("bwrap") is None:
        raise DoraError("--isolate needs bubblewrap: apt-get install bubblewrap")
    dataflow = expand(file)
    for entry in dataflow["nodes"]:
        if entry["id"] in names:
            _wrap(entry, by_id[entry["id"]].file, run_dir)
    beside = file.resolve().with_name(f".{file.stem}.isolated.yml")
    beside.write_text(yaml.safe_dump(_without_nulls(dataflow), sort_keys=False))
    try:
        yield beside
    finally:
        beside.unlink(missing_ok=True)


def sandbox_words() -> list[str]:
    """Return bubblewrap with the flags that dora nodes work under.

    The file system is read-only, other processes and the key of the run are not there. Loopback
    stays, because dora needs it: what a node may forge with it, the seal makes harmless.
    """
    # --unsetenv: else dora's guard against orphans kills the node, whose parent is bwrap.
    hidden = key_folder()
    hidden.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = "--unsetenv DORA_RUN_PARENT_PID --die-with-parent --new-session --unshare-pid "
    flags += "--unshare-ipc --unshare-uts --cap-drop ALL --ro-bind / / --dev-bind /dev /dev "
    if os.geteuid() == 0:
        # Zenoh locks its shared memory; without this it stalls for 20 s and loses messages.
        flags += "--cap-add CAP_IPC_LOCK "
    return ["bwrap", *flags.split(), "--proc", "/proc", "--tmpfs", str(hidden)]


def _wrap(entry: dict[str, Any], file: Path | None, run_dir: Path) -> None:
    program, *flags = sandbox_words()
    for own in (run_dir / "events" / f"{entry['id']}.jsonl", run_dir / "alive" / entry["id"]):
        own.parent.mkdir(exist_ok=True)
        own.touch()
        flags += ["--bind", str(own), str(own)]
    words = [*flags, sys.executable, "-u", str(file)]
    args = entry.get("args")
    entry["path"] = program
    entry["args"] = shlex.join(words) + (f" {args}" if args else "")


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    return [_without_nulls(v) for v in value] if isinstance(value, list) else value
