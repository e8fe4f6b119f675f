"""`interlock policy`: list, show and check presets; serve test policies by hand."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from interlock.policies.vla.check import Look
    from interlock.policies.vla.preset import Preset
    from interlock.policies.vla.probe import Probe
    from interlock.policies.vla.servers.behaviour import Behaviour

_CONFIG = click.option(
    "--policy-config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="YAML whose keys override the preset's, deeply (INTERLOCK_VLA_POLICY_CONFIG).",
)


@click.group("policy")
def policy() -> None:
    """List, check and serve policies.

    INTERLOCK_VLA_URL and INTERLOCK_VLA_TOKEN say where the server is and how to get in.
    """


@policy.command("list")
def list_presets() -> None:
    """Print one preset a line: name, wire, robots, what it is."""
    from interlock.policies.vla.preset_files import load_preset, preset_names

    for name in preset_names():
        preset = load_preset(name)
        robots = ",".join(preset.robots) or "any"
        click.echo(f"{name:28} {preset.wire.kind:10} {robots:8} {preset.doc}")


@policy.command("show")
@click.argument("preset")
@_CONFIG
def show(preset: str, policy_config: Path | None) -> None:
    """Print a preset with every override and every default applied, as YAML."""
    import yaml

    from interlock.policies.vla.preset_files import load_preset

    loaded = load_preset(preset, config=policy_config, environment=os.environ)
    click.echo(yaml.safe_dump(_plain(dataclasses.asdict(loaded)), sort_keys=False, width=100))


@policy.command("check")
@click.argument("preset")
@click.option("--task", help="Task whose instruction the policy is given.")
@click.option("--scene", default="tabletop", show_default=True, help="Scene that is looked at.")
@click.option("--prompt", help="Instruction, instead of the task's.")
@click.option("--seed", default=0, show_default=True, help="Seed of the layout.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/policy_check.html"))
@click.option("--no-server", is_flag=True, help="Look only; do not ask the policy.")
@click.option("--no-probe", is_flag=True, help="Do not try the columns in simulation.")
@_CONFIG
def check(preset: str, out: Path, policy_config: Path | None, **options: Any) -> None:
    """See what the policy sees, ask it once, try its columns; write a page. Exit 1 if unfit."""
    from interlock.cli.policy_sim import SimulatedPanda
    from interlock.policies.vla.check import look
    from interlock.policies.vla.fit import check_robot
    from interlock.policies.vla.page import page
    from interlock.policies.vla.preset_files import load_preset
    from interlock.policies.vla.probe import probe
    from interlock.policies.vla.robot import PANDA

    loaded = load_preset(preset, config=policy_config, environment=os.environ)
    check_robot(loaded, PANDA)
    prompt = options["prompt"] or _instruction(options["task"])
    panda = SimulatedPanda(options["scene"], seed=options["seed"], prompt=prompt)
    snapshot = panda.snapshot()
    token = os.environ.get("INTERLOCK_VLA_TOKEN")
    seen = asyncio.run(look(loaded, PANDA, snapshot, token=token, ask=not options["no_server"]))
    probes = [] if options["no_probe"] else probe(loaded, PANDA, snapshot, panda)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page(seen, probes), encoding="utf-8")
    _tell(loaded, seen, probes, out)
    if not all(p.agrees for p in probes):
        raise SystemExit(1)


def _tell(loaded: Preset, seen: Look, probes: list[Probe], out: Path) -> None:
    click.echo(f"{loaded.name} fits {seen.robot.robot}; page: {out}")
    for p in probes:
        verdict = "agrees" if p.agrees else "DIFFERS"
        click.echo(f"column {p.column}: contract {p.expected}, measured {p.measured}: {verdict}")
    for note in seen.notes():
        click.echo(f"the Gate would refuse: {note}")
    for name, value in seen.timings_ms.items():
        click.echo(f"{name}: {value:.1f} ms")


def _instruction(task: str | None) -> str:
    if task is None:
        return "pick up the red cup and put it on the tray"
    from interlock.trials.library import load

    loaded = load(task)
    return loaded.language or loaded.title


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


@policy.command("serve")
@click.argument("behaviour", type=click.Choice(["stub", "replay", "scripted", "cloned"]))
@click.option(
    "--wire",
    type=click.Choice(["openpi", "xpolicylab", "openvla", "gr00t", "http-json"]),
    default="openpi",
    show_default=True,
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, help="0 takes a free one.")
@click.option("--width", default=8, show_default=True, help="Columns of an action.")
@click.option("--horizon", default=10, show_default=True, help="Rows of a chunk.")
@click.option("--file", type=click.Path(path_type=Path), help="replay: .npz; cloned: weights.")
@click.option("--slow-first-s", default=0.0, help="Fault: extra time of the first answer.")
@click.option("--late-s", default=0.0, help="Fault: extra time of answer AT.")
@click.option("--at", default=0, help="The answer, from 0, that the faults below befall.")
@click.option("--wrong-width", default=0, help="Fault: send so many columns.")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16", "float16", "float64", ">f4", "int64", "list"]),
    default="float32",
    help="How numbers are written.",
)
@click.option("--nan", is_flag=True, help="Fault: a NaN in the chunk.")
@click.option("--error", is_flag=True, help="Fault: an error with its traceback.")
@click.option("--closes", is_flag=True, help="Fault: close instead of answering.")
@click.option("--garbage", is_flag=True, help="Fault: bytes that are no message.")
@click.option("--huge-bytes", default=0, help="Fault: a message of this size.")
def serve(behaviour: str, wire: str, host: str, port: int, **options: Any) -> None:
    """Serve a test policy until Ctrl-C; the first line printed is its URL."""
    import signal
    import threading

    from interlock.policies.vla.servers.faults import Faults
    from interlock.policies.vla.servers.stand import Stand, serving

    made = _behaviour(behaviour, options)
    names = [f.name for f in dataclasses.fields(Faults)]
    faults = Faults(**{name: options[name] for name in names})
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    token = os.environ.get("INTERLOCK_VLA_TOKEN")
    stand = Stand(kind=wire, behaviour=made, faults=faults, token=token)  # type: ignore[arg-type]
    with serving(stand, host=host, port=port) as url:
        click.echo(url)
        try:
            stop.wait()
        except KeyboardInterrupt:
            click.echo("stopped", err=True)


def _behaviour(name: str, options: dict[str, Any]) -> Behaviour:
    from interlock.policies.vla.servers.behaviour import Replay, Scripted, Stub

    if name == "replay":
        if options["file"] is None:
            raise click.UsageError("replay needs --file")
        return Replay.load(options["file"])
    if name == "cloned":
        from interlock.policies.vla.cloned import Cloned, shipped_weights

        return Cloned.load(options["file"] or shipped_weights())
    make = Stub if name == "stub" else Scripted
    return make(horizon=options["horizon"], width=options["width"])
