"""`interlock rejudge TRACE --gate FILE`: what would another Gate have said to the same commands?"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from interlock.messages.errors import InterlockError

if TYPE_CHECKING:
    from interlock.gate.rejudge import Rejudged
    from interlock.operators.trace import Trace


class RejudgeError(InterlockError):
    """A trace without a Gate that can be judged again."""


@click.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--gate", "gate_file", default="", help="Other configuration: shipped name or file.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write every change.")
def rejudge(trace: Path, gate_file: str, json_file: Path | None) -> None:
    """Judge the recorded commands of TRACE again.

    Without --gate the recorded configuration is used, and every verdict must come out
    bit-identical; if one does not, the exit code is 1.
    """
    from interlock.operators.trace import Trace

    results = judge_again(Trace(trace), gate_file)
    changed = [r for r in results if not r.same]
    before, after = _admitted(r.before for r in results), _admitted(r.after for r in results)
    click.echo(f"{len(results)} commands: admitted {before} then, {after} now")
    click.echo(f"bit-identical verdicts: {len(results) - len(changed)} of {len(results)}")
    for (then, now), count in _changes(changed).most_common():
        click.echo(f"  {count:5d}  {then}  ->  {now}")
    if json_file is not None:
        json_file.write_text(json.dumps([_row(r) for r in changed], indent=1) + "\n")
    if changed and not gate_file:
        raise RejudgeError(
            f"{len(changed)} verdicts differ under the recorded configuration: the Gate's code, "
            "the scene or the configuration file has changed since"
        )


def judge_again(trace: Trace, gate_file: str = "") -> list[Rejudged]:
    """Return every recorded command with its verdict then and now.

    Args:
        trace: A recorded run.
        gate_file: Other configuration; empty takes the recorded one.

    Raises:
        RejudgeError: If the trace has no Gate's journal.
    """
    from interlock.gate import Run
    from interlock.gate.rejudge import Recorded, read_journal, rejudge, tokens_of
    from interlock.messages import AdmittedCommand, Basis, Grant, Verdict
    from interlock.nodes._gate_compose import build_gate, gate_config

    node, settings, context = _gate_node(trace)
    # Another configuration says its own mode.
    mode = "" if gate_file else settings.mode
    config = gate_config(gate_file or settings.config, context.dataflow_dir, mode)
    gate = build_gate(config, settings.scene, context, Run(run_id="rejudge", key=bytes(32)))
    gate.authority.recorded = tokens_of(r.message for r in trace.of(Grant))
    statuses = [r.message.journal for r in trace.messages(outputs=[f"{node}/status"])]
    if not any(statuses):
        raise RejudgeError(f"{trace.folder}: no journal of the Gate {node!r} in this trace")
    commands = trace.of(AdmittedCommand) if gate_file else ()

    def find(source: str, output: str, seq: int, observed_ns: int) -> Any:
        return trace.find(
            Basis(source=source, output=output, seq=seq, observed_ns=observed_ns, received_ns=0)
        )

    recorded = Recorded(
        find=find,
        verdicts={(r.message.source, r.message.seq): r.message for r in trace.of(Verdict)},
        sent={r.message.number: (r.message, r.stamp.sent_ns) for r in commands},
    )
    return list(rejudge(gate, read_journal(statuses), recorded))


def _gate_node(trace: Trace) -> tuple[str, Any, Any]:
    """Return the id of the Gate in a recorded dataflow, its settings and its context."""
    from interlock.nodes._node import Context
    from interlock.nodes._settings import from_env
    from interlock.nodes.gate import GateNode

    for spec in trace.meta.get("dataflow", {}).get("nodes", ()):
        if str(spec.get("path", "")).endswith("gate.py"):
            node = str(spec["id"])
            context = Context(
                node_id=node,
                run_id="rejudge",
                run_dir=trace.folder,
                seed=int(trace.meta.get("seed", 0)),
                lockstep=True,
                dataflow_dir=Path(),
            )
            env = spec.get("env") or {}
            return node, from_env(GateNode.Settings, env, where=f"node {node}: env"), context
    raise RejudgeError(f"{trace.folder}: the recorded dataflow has no Gate")


def _admitted(verdicts: Any) -> int:
    return sum(v is not None and v.admitted for v in verdicts)


def _word(verdict: Any) -> str:
    if verdict is None:
        return "not recorded"
    said = "admitted" if verdict.admitted else "refused"
    return f"{said} {','.join(verdict.codes)}".strip()


def _changes(changed: list[Rejudged]) -> Counter[tuple[str, str]]:
    return Counter((_word(r.before), _word(r.after)) for r in changed)


def _row(result: Rejudged) -> dict[str, Any]:
    from interlock.gate.rejudge import differences

    before, after = result.before, result.after
    return {
        "at_ns": result.at_ns,
        "source": after.source,
        "seq": after.seq,
        "before": _word(before),
        "after": _word(after),
        "sentence": after.sentence,
        "fields": [] if before is None else differences(before, after),
    }
