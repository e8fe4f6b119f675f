"""`interlock contract`: show, check and describe what a robot sees and accepts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from interlock.messages.contract import Contract, Feature


@click.group()
def contract() -> None:
    """Show or check a robot contract."""


@contract.command()
@click.argument("source")
@click.option("--json", "as_json", is_flag=True, help="Print the contract itself.")
@click.option("--python", type=click.Path(path_type=Path), help="Interpreter of the environment.")
def show(source: str, as_json: bool, python: Path | None) -> None:
    """Show the contract of SOURCE: a JSON file, a gymnasium id or file.py:factory."""
    found = _load(source, python)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2))
        return
    click.echo(f"{found.robot_type or 'robot'} at {found.control_rate_hz:g} Hz")
    for feature in found.features.values():
        click.echo("  " + _line(feature))


@contract.command()
@click.argument("source")
@click.option("--python", type=click.Path(path_type=Path), help="Interpreter of the environment.")
def check(source: str, python: Path | None) -> None:
    """Check the contract of SOURCE; every problem is one line, exit code 1."""
    from interlock.messages.contract import ContractError

    try:
        found = _load(source, python)
    except ContractError as error:
        for problem in error.problems:
            click.echo(problem, err=True)
        raise SystemExit(1) from error
    click.echo(f"{source}: sound, {len(found.features)} features")


@contract.command()
def schema() -> None:
    """Print the JSON schema of contract v0."""
    from interlock.messages.contract_schema import json_schema

    click.echo(json.dumps(json_schema(), indent=2))


def _load(source: str, python: Path | None) -> Contract:
    from interlock.messages.contract import read_contract

    if source.endswith(".json"):
        return read_contract(Path(source))
    from interlock.robots.bridge import gym

    with gym(source, python=python) as endpoint:
        return endpoint.contract()


def _line(feature: Feature) -> str:
    shape = "x".join(str(size) for size in feature.shape) if feature.shape else "?"
    words = [feature.role, feature.name, feature.type or "", feature.dtype or "", shape]
    if feature.low is not None and feature.high is not None:
        words.append(f"limits {feature.low.min():g} to {feature.high.max():g}")
    if feature.state_type:
        words.append(feature.state_type)
    return "  ".join(word for word in words if word)
