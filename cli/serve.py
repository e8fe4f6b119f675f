"""`interlock serve`: start the graph with its doors and wait for clients."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import click


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the run.")
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs"), show_default=True)
@click.pass_context
def serve(context: click.Context, file: Path | None, seed: int, runs: Path) -> None:
    """Start FILE (default: a simulated Panda) and serve its skills until Ctrl-C.

    Then, in other terminals: `interlock mcp`, `interlock world`, `interlock sim`, `interlock stop`.
    """
    from interlock.cli.start import start

    shipped = Path(str(resources.files("interlock.configs").joinpath("dataflows/serve.yml")))
    context.invoke(start, file=file or shipped, seed=seed, runs=runs)
