"""`interlock env`: benchmark suites that need an environment of their own."""

from __future__ import annotations

import json

import click


@click.group()
def env() -> None:
    """List and install simulation suites, each in its own environment."""


@env.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_suites(as_json: bool) -> None:
    """List every suite with its state and size."""
    from interlock.robots.bridge.suites import SUITES, environments, size_of

    rows = [
        {
            "name": suite.name,
            "installed": suite.installed,
            "megabytes": size_of(suite.folder) >> 20 if suite.installed else suite.megabytes,
            "example": suite.example,
            "about": suite.about,
        }
        for suite in SUITES.values()
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        state = "installed" if row["installed"] else "not installed"
        click.echo(
            f"{row['name']:<20} {state:<14} {row['megabytes']:>5} MB  "
            f"{row['about']} (e.g. {row['example']})"
        )
    click.echo(f"environments are in {environments()}")


@env.command()
@click.argument("name")
def install(name: str) -> None:
    """Build the environment of suite NAME with the versions known to work."""
    from interlock.robots.bridge.suites import install as build
    from interlock.robots.bridge.suites import suite_named

    suite = suite_named(name)
    if suite.installed:
        click.echo(f"{name} is installed in {suite.folder}")
        return
    click.echo(f"installing {name}, about {suite.megabytes} MB, into {suite.folder}")
    build(suite)
    click.echo(f"done; try: interlock env try {name}")


@env.command("try")
@click.argument("name")
@click.argument("task", required=False)
@click.option("--steps", default=5, show_default=True, help="Random steps to take.")
def try_suite(name: str, task: str | None, steps: int) -> None:
    """Run a few random steps of TASK of suite NAME over the wire."""
    import asyncio

    import numpy as np

    from interlock.policies.robot import FunctionModel, RobotAgent
    from interlock.robots.bridge.suites import serve_suite, suite_named

    suite = suite_named(name)
    rng = np.random.default_rng(0)
    with serve_suite(name, task or suite.example) as robot:
        contract = robot.contract()
        width = contract.action.width or 1
        random = FunctionModel(lambda seen: rng.uniform(-1, 1, width))
        started = robot.reset(seed=0)
        run = RobotAgent(random, max_steps=steps).run(
            robot.url, contract, token=started["token"], prompt=started["prompt"]
        )
        rollout = asyncio.run(run)
        click.echo(f"{started['prompt']}: {rollout.steps} steps, {robot.result(started['token'])}")
