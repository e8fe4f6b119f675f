"""`interlock program FILE.py`: run a program of your own in a dataflow."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click
import yaml


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dataflow", type=click.Path(path_type=Path), help="Graph to run it in.")
@click.option("--watch", is_flag=True, help="Replace it at a safe point when FILE changes.")
@click.option("--lockstep", is_flag=True, help="On simulated time instead of live.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs"), show_default=True)
@click.pass_context
def program(
    context: click.Context,
    file: Path,
    dataflow: Path | None,
    watch: bool,
    lockstep: bool,
    seed: int,
    runs: Path,
) -> None:
    """Run FILE, which has `async def main()`, as the policy of a dataflow.

    Without --dataflow it is the default graph of this repository or of the current folder.
    """
    from interlock.cli import lockstep as lockstep_command
    from interlock.cli import start as start_command
    from interlock.policies.load import load_program

    load_program(file)  # an error in the file is said before anything starts
    graph = dataflow or _default_dataflow()
    with tempfile.TemporaryDirectory(prefix="interlock-program-") as folder:
        path = Path(folder) / f"{file.stem}.yml"
        path.write_text(yaml.safe_dump(with_program(graph, file, watch=watch), sort_keys=False))
        chosen = lockstep_command.lockstep if lockstep else start_command.start
        context.invoke(chosen, file=path, seed=seed, runs=runs)


def with_program(graph: Path, file: Path, *, watch: bool) -> dict[str, Any]:
    """Return a dataflow whose policy node runs a program; its paths are absolute.

    Raises:
        SettingsError: If it has no node that runs `nodes/policy.py`.
    """
    from interlock.messages.errors import SettingsError
    from interlock.messages.settings import read_yaml

    data = read_yaml(graph)
    base, found = graph.resolve().parent, False
    for node in data.get("nodes") or ():
        if isinstance(node.get("path"), str):
            node["path"] = str((base / node["path"]).resolve())
        if Path(str(node.get("path"))).name == "policy.py" and not found:
            found = True
            env = dict(node.get("env") or {})
            env |= {"POLICY": "program", "PROGRAM": str(file.resolve())}
            node["env"] = env | ({"WATCH": "true"} if watch else {})
    if not found:
        raise SettingsError(
            f"{graph}: no node with path: .../policy.py to run {file.name} in. Name another "
            "dataflow with --dataflow."
        )
    return data


def _default_dataflow() -> Path:
    import interlock.nodes
    from interlock.messages.errors import SettingsError

    here = Path("dataflow.yml")
    ours = Path(interlock.nodes.__file__).resolve().parents[1] / "dataflow.yml"
    for path in (here, ours):
        if path.is_file():
            return path
    raise SettingsError("no dataflow.yml here; name one with --dataflow")
