"""`interlock policy`: lists, shows, checks and serves; the page holds what the policy sees."""

import subprocess
import sys
from html.parser import HTMLParser

import pytest
import yaml
from click.testing import CliRunner

from interlock.cli.policy import policy
from interlock.policies.vla.errors import SetupError
from interlock.policies.vla.servers.behaviour import Scripted, Stub
from interlock.policies.vla.servers.stand import Stand, serving


def run(*arguments, **environment):
    return CliRunner().invoke(policy, arguments, env=environment, catch_exceptions=False)


class Page(HTMLParser):
    """Counts tags and remembers text."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.text, self.sources = [], [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.text.append(data)


def test_one_preset_a_line_with_its_name_first():
    lines = run("list").output.splitlines()
    assert len(lines) >= 21
    assert all("/" in line.split()[0] for line in lines)
    assert "openpi/pi05_libero" in [line.split()[0] for line in lines]


def test_show_prints_the_preset_with_overrides_as_yaml(tmp_path):
    (tmp_path / "mine.yml").write_text("action: {rate_hz: 7}")
    shown = run("show", "interlock/panda", "--policy-config", str(tmp_path / "mine.yml"))
    assert yaml.safe_load(shown.output)["action"]["rate_hz"] == 7


def test_check_asks_the_server_tries_every_column_and_writes_the_page(tmp_path):
    out = tmp_path / "page.html"
    with serving(Stand(kind="openpi", behaviour=Scripted())) as url:
        done = run("check", "interlock/panda", "--out", str(out), INTERLOCK_VLA_URL=url)
    assert done.exit_code == 0
    assert done.output.count("agrees") == 8
    page = Page(out)
    assert page.tags.count("img") == 2
    assert page.tags.count("svg") == 8
    assert all(source.startswith("data:image/png") for source in page.sources)
    assert "every row is within the robot's limits" in page.text


def test_check_says_what_the_gate_would_refuse(tmp_path):
    out = tmp_path / "page.html"
    with serving(Stand(kind="openpi", behaviour=Stub(value=3.0))) as url:
        options = ("--no-probe", "--out", str(out))
        done = run("check", "interlock/panda", *options, INTERLOCK_VLA_URL=url)
    assert "the Gate would refuse: joint1 [rad]: row 0 is 3, limit 2.897" in done.output


def test_check_of_libero_finds_the_sign_and_axis_of_every_column(tmp_path):
    out = tmp_path / "page.html"
    done = run("check", "openpi/pi05_libero", "--no-server", "--out", str(out))
    assert done.exit_code == 0
    assert "column 5: contract about z +0.0300 rad, measured about z +0.0" in done.output
    assert done.output.count("agrees") == 7


def test_check_of_a_policy_that_does_not_fit_is_an_error_before_anything(tmp_path):
    with serving(Stand(kind="openpi", behaviour=Stub(width=7))) as url, pytest.raises(SetupError):
        run("check", "interlock/panda", "--out", str(tmp_path / "x"), INTERLOCK_VLA_URL=url)
    assert list(tmp_path.iterdir()) == []


def test_the_command_ends_with_one_line_and_exit_code_1():
    command = [sys.executable, "-m", "interlock.cli.main", "policy", "check", "gr00t/so101"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "robot: expected so101, got panda" in done.stderr


def test_serve_prints_its_url_and_answers_until_it_is_told_to_stop(tmp_path):
    command = [sys.executable, "-m", "interlock.cli.main", "policy", "serve", "scripted"]
    server = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        options = ("--no-probe", "--out", str(tmp_path / "page.html"))
        assert run("check", "interlock/panda", *options, INTERLOCK_VLA_URL=url).exit_code == 0
    finally:
        server.terminate()
        assert server.wait(10) == 0


def test_replay_needs_a_recording():
    done = CliRunner().invoke(policy, ["serve", "replay"])
    assert done.exit_code == 2
    assert "replay needs --file" in done.output
