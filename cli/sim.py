"""`interlock sim`: disturb the simulated world of a running graph."""

from __future__ import annotations

import click

_run = click.option("--run", "run_id", default="", help="Run, if several are going on.")


@click.group()
def sim() -> None:
    """Push, remove, put or fasten an object in the simulator, as an experiment would."""


@sim.command("push")
@click.argument("name")
@click.argument("dx_m", type=float)
@click.argument("dy_m", type=float)
@click.option("--over-s", default=0.15, show_default=True, help="How long the push lasts, in s.")
@_run
def push(name: str, dx_m: float, dy_m: float, over_s: float, run_id: str) -> None:
    """Slide object NAME by DX_M and DY_M."""
    _do("push", run_id, name=name, by_m=[dx_m, dy_m, 0.0], duration_s=over_s)


@sim.command("put")
@click.argument("name")
@click.argument("x_m", type=float)
@click.argument("y_m", type=float)
@click.argument("z_m", type=float)
@_run
def put(name: str, x_m: float, y_m: float, z_m: float, run_id: str) -> None:
    """Put object NAME somewhere, upright."""
    _do("put", run_id, name=name, world_from_object=[x_m, y_m, z_m, 1.0, 0.0, 0.0, 0.0])


@sim.command("remove")
@click.argument("name")
@_run
def remove(name: str, run_id: str) -> None:
    """Take object NAME away."""
    _do("remove", run_id, name=name)


@sim.command("attach")
@click.argument("name")
@click.option("--to", "carrier", type=click.Choice(["hand", "person_hand"]), default="person_hand")
@_run
def attach(name: str, carrier: str, run_id: str) -> None:
    """Fasten object NAME to the person's hand or the robot's."""
    _do("attach", run_id, name=name, carrier=carrier)


@sim.command("detach")
@click.argument("name")
@_run
def detach(name: str, run_id: str) -> None:
    """Let go of object NAME."""
    _do("detach", run_id, name=name)


def _do(action: str, run_id: str, **values: object) -> None:
    from interlock.cli.desk import EXPERIMENT, ask

    answer = ask({"action": action, "values": values}, run_id, suffix=EXPERIMENT)
    click.echo(f"asked the simulator: {answer['asked']}")
