"""`interlock doctor`: what of this machine works, what does not, and what mends it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from interlock.cli.findings import Finding


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(as_json: bool) -> None:
    """Try everything a run needs; exit code 1 when something it needs does not work."""
    from interlock.cli import findings
    from interlock.cli.gl_findings import gl

    looks = (
        *(findings.python, findings.dora, findings.mujoco, gl, findings.sandbox),
        *(findings.ports, findings.clock, findings.memory),
    )
    found = []
    for look in looks:
        for finding in look():
            found.append(finding)
            if not as_json:
                click.echo(_line(finding))
    missing = [f for f in found if f.needed and not f.ok]
    if as_json:
        click.echo(json.dumps([asdict(f) for f in found], indent=2))
    elif missing:
        click.echo(f"not ready: {', '.join(f.what for f in missing)}")
    else:
        click.echo("ready: interlock start dataflow.yml")
    if missing:
        raise SystemExit(1)


def _line(finding: Finding) -> str:
    mark = "ok  " if finding.ok else "FAIL" if finding.needed else "warn"
    mend = f"\n       mend: {finding.mend}" if finding.mend and not finding.ok else ""
    return f"{mark}  {finding.what}: {finding.text}{mend}"
