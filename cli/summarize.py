"""`interlock summarize`: verify a trial folder and say what can be learnt from it."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("summarize")
@click.argument("trial", type=click.Path(exists=True, file_okay=False, path_type=Path))
def summarize(trial: Path) -> None:
    """Verify the signed verdict of TRIAL and print its learnings as Markdown."""
    from interlock.trials.learnings import write_learnings
    from interlock.trials.results import read_trials
    from interlock.trials.verdict import signing_key, verify_folder

    signer = verify_folder(trial)
    own = signing_key().public_key().public_bytes_raw().hex()
    whose = "this machine's key" if signer == own else "a key that is not this machine's"
    click.echo(f"verdict verified: signed by {signer[:16]}… ({whose})", err=True)
    click.echo(write_learnings(read_trials([trial])[0]), nl=False)
