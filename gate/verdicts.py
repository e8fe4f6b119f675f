"""From what was found to the Verdict that policy and trace receive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.gate.decision import sentence_of
from interlock.messages.command import Verdict

if TYPE_CHECKING:
    from interlock.gate.decision import Reason
    from interlock.gate.judgement import Assessment
    from interlock.messages.received import Received


def verdict(
    received: Received[Any], mode: str, found: Assessment | None, reasons: tuple[Reason, ...]
) -> Verdict:
    """Return the verdict on a command that is not admitted; the rest is filled in on admission.

    Args:
        received: The command as it was received.
        mode: Mode of the Gate.
        found: What the checks found; None when the command was too malformed to be judged.
        reasons: Why it is refused, or the rows that are.
    """
    task = getattr(received.message, "task", "")
    findings = () if found is None else found.findings
    ages = [(f.name, f.age_ms) for f in findings if f.age_ms is not None]
    margins = [(f.name, f.margin) for f in findings if f.margin is not None]
    terms = next((f.terms for f in findings if f.terms), ())
    plan = None if found is None else found.plan
    return Verdict(
        task=task if isinstance(task, str) else "",
        source=received.stamp.source,
        seq=received.stamp.seq,
        admitted=False,
        mode=mode,
        codes=tuple(r.code for r in reasons),
        reasons=tuple(r.sentence for r in reasons),
        sentence=sentence_of(reasons),
        margin_names=tuple(name for name, _ in margins),
        margins=np.array([margin for _, margin in margins], np.float64),
        age_names=tuple(name for name, _ in ages),
        ages_ms=np.array([age for _, age in ages], np.float64),
        separation_m=np.array(terms, np.float64),
        rest_position=np.zeros(0) if plan is None else plan.position[-1].copy(),
        stage_us=np.array(() if found is None else found.stage_us, np.float64),
    )
