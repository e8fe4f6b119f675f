"""`interlock world`: what a running graph knows, and values that people put in."""

from __future__ import annotations

import getpass
import json

import click


@click.group()
def world() -> None:
    """Read and set values of the World of a running graph."""


@world.command("set")
@click.argument("key")
@click.argument("value")
@click.option("--run", "run_id", default="", help="Run, if several are going on.")
def set_value(key: str, value: str, run_id: str) -> None:
    """Set KEY to VALUE: JSON, or text if it is no JSON."""
    from interlock.cli.desk import ask

    try:
        data = json.loads(value)
    except ValueError:
        data = value
    ask({"op": "set", "key": key, "value": data, "source": f"person {getpass.getuser()}"}, run_id)
    click.echo(f"{key} = {json.dumps(data)}")


@world.command("show")
@click.argument("keys", nargs=-1)
@click.option("--run", "run_id", default="", help="Run, if several are going on.")
def show(keys: tuple[str, ...], run_id: str) -> None:
    """Show values with their age and source."""
    from interlock.cli.desk import ask

    answer = ask({"op": "world", "keys": list(keys)}, run_id)
    for key, entry in answer["world"].items():
        age = f"{entry['age_ms']:.0f} ms"
        click.echo(f"{key:<12} {age:>9}  {entry['source']:<10} {json.dumps(entry['value'])}")
