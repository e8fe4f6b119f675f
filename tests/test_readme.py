"""Every command that the README shows exists, and the first two are run as they stand."""

import re
import shlex
from pathlib import Path

import click
import pytest

from interlock.cli.main import COMMANDS, cli

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
LINES = [x.partition("#")[0].strip() for b in BLOCKS for x in b.splitlines() if x.strip()]
INLINE = re.findall(r"`(interlock [^`]+)`", README)


def parsed(words):
    """Walk from `interlock` to the subcommand that the words name; return it and what is left."""
    command, left = cli, list(words)
    context = click.Context(command)
    while isinstance(command, click.Group) and left and not left[0].startswith("-"):
        found = command.get_command(context, left[0])
        assert found is not None, f"no command {left[0]!r} in {words}"
        command, left = found, left[1:]
    return command, left


COMMAND_LINES = sorted(
    {
        part.strip()
        for line in [*LINES, *INLINE]
        for part in line.split("&&")
        if part.strip().startswith("interlock ")
    }
)


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_a_command_of_the_readme_exists_and_takes_these_options(line):
    words = [w for w in shlex.split(line)[1:] if "..." not in w]
    command, left = parsed(words)
    options = {o for p in command.params for o in p.opts} | {"--help"}
    assert {w for w in left if w.startswith("-")} <= options


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([^)h][^)#]*)\)", README))))
def test_a_file_that_the_readme_links_to_exists(path):
    assert (ROOT / path).exists()


def test_the_setup_commands_are_the_two_that_ci_and_a_newcomer_type():
    assert LINES[0] == "pip install . && interlock start dataflow.yml"
    assert LINES[1] == "pip install -e '.[dev]' && pytest"
    assert "start" in COMMANDS


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_of_the_table_can_be_imported_and_explains_itself(name):
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.help or command.short_help
