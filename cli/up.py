"""`interlock up`: start dora's coordinator and daemon as Interlock wants them."""

from __future__ import annotations

import click


@click.command()
def up() -> None:
    """Start dora in the background, with authentication and without multicast.

    Then: dora start dataflow.yml --attach; in the end: dora down. Nodes get the environment of this
    command, with the transport settings of `interlock start`.
    """
    import os
    import subprocess

    from interlock.cli.dora_tool import DoraError, complaint, dora_environment, dora_program
    from interlock.cli.environment import port_in_use
    from interlock.cli.run_folder import transport_overlay

    port = int(os.environ.get("DORA_COORDINATOR_PORT") or 6013)
    if port_in_use(port):
        raise DoraError(
            f"port {port} is in use, by a dora that is up already? End it with dora down, or set "
            "DORA_COORDINATOR_PORT"
        )
    environ = dora_environment(
        {
            "DORA_ZENOH_CONFIG_OVERLAY": str(transport_overlay()),
            "DORA_ZENOH_MULTICAST": "off",
            "INTERLOCK_STARTED": "1",
        }
    )
    done = subprocess.run(
        [dora_program(), "up", "--auth"],
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise DoraError(f"dora up: {complaint(done.stderr)}")
    click.echo("dora is up, with authentication and without multicast; end it with: dora down")
