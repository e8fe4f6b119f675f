"""`interlock bench`: one benchmark per file in benchmarks/, imported when it is used."""

from __future__ import annotations

import importlib

import click

from interlock.cli.main import LazyGroup

#: Name -> (module in interlock.benchmarks, attribute that is a click command, one-line help).
BENCHMARKS: dict[str, tuple[str, str, str]] = {
    "age": ("edge_age", "command", "How old is what a slow reader uses; is its memory flat?"),
    "cloning": ("cloning", "command", "A policy cloned here, flown on unseen layouts."),
    "bridge": ("bridge", "command", "Robot bridge: round trips, batches, recording, the peer."),
    "ablation": ("gate_suites", "ablation", "One part of the Gate off: its failures come back."),
    "crash": ("gate_suites", "crash", "Agent or Gate dies or freezes in mid-motion."),
    "concurrency": ("concurrency", "command", "Thinking while acting, decisions of 3 s."),
    "disturbances": ("disturbances", "command", "Pushes, belt, occlusion, slips, a lost cup."),
    "edges": ("edges", "command", "Stamps on a dora edge, a socket, lockstep on the physics."),
    "gate": ("gate", "command", "Gate: time per verdict by stage, scene and chunk length."),
    "gate-fuzz": ("gate_fuzz", "command", "Damaged commands to Gate and driver."),
    "safety": ("gate_suites", "safety", "Buggy programs with and without the Gate."),
    "stale": ("gate_suites", "stale", "Sensors that fall silent beside a person's hand."),
    "stopping": ("gate_suites", "stopping", "Cancel, second agent, operator stop."),
    "robots": ("robots", "command", "Simulated robot: steps, cameras, distances, kinematics."),
    "model-safety": ("model_safety", "command", "A model in charge: Gate in shadow, enforcing."),
    "trace-causes": ("trace_causes", "command", "Planted faults: does `trace why` name them?"),
    "trace": ("trace_rate", "command", "Messages per second into the trace without a gap."),
    "vla": ("vla", "command", "Policy wires: round trips, preprocessing, chunks."),
}


class BenchGroup(LazyGroup):
    """The lazy group of `interlock`, looking in interlock.benchmarks."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a benchmark."""
        if cmd_name not in self._table:
            return None
        module, attribute, _ = self._table[cmd_name]
        command: click.Command = getattr(
            importlib.import_module(f"interlock.benchmarks.{module}"), attribute
        )
        return command


@click.group("bench", cls=BenchGroup, commands_table=BENCHMARKS)
def bench() -> None:
    """Measure; every benchmark prints a table and writes it with --json FILE."""
