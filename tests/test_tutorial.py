"""Every command in the tutorial and the concept pages exists; those in lockstep are run."""

import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from interlock.cli.main import cli

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs/tutorial.md", *sorted((ROOT / "docs/concepts").glob("*.md"))]
LINES = sorted(
    {
        line.partition("#")[0].strip()
        for page in PAGES
        for block in re.findall(r"```bash\n(.*?)```", page.read_text(), re.DOTALL)
        for line in block.splitlines()
    }
)
# The programs among the examples are run by test_examples.py; here one, as it is typed.
RUN = ["interlock program examples/in_order.py --lockstep", "interlock lockstep examples/agent.yml"]


@pytest.mark.parametrize("line", LINES)
def test_a_command_of_the_tutorial_exists_and_takes_these_options(line):
    command, words = cli, shlex.split(line)[1:]
    while isinstance(command, click.Group):
        command = command.get_command(click.Context(command), words.pop(0))
        assert command is not None
    options = {option for parameter in command.params for option in parameter.opts}
    assert {w for w in words if w.startswith("-")} <= options


def test_the_commands_that_are_run_are_in_the_tutorial():
    assert set(RUN) <= set(LINES)


@pytest.mark.parametrize("line", RUN)
def test_a_command_in_lockstep_does_what_the_tutorial_says(line, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(cli, [*shlex.split(line)[1:], "--runs", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "succeeded" in result.output


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_a_page_links_only_to_what_exists(page):
    for link in re.findall(r"\]\(([^)h][^)#]*)\)", page.read_text()):
        assert (page.parent / link).exists(), link


def test_the_task_page_names_every_skill():
    from interlock.policies.skills import SKILLS

    page = (ROOT / "docs/concepts/task.md").read_text()
    assert {cls.__name__ for cls in SKILLS.values() if cls.__module__.startswith("interlock.")} <= {
        name for name in re.findall(r"`(\w+)\(", page)
    }
