import numpy as np
import pytest
from click.testing import CliRunner

from interlock.cli.env import env as command
from interlock.robots.bridge import BridgeError, suites
from interlock.robots.bridge.suite_factories import SuiteEnv, axis_angle


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("INTERLOCK_ENVS", str(tmp_path))


def test_every_suite_has_pins_and_a_factory() -> None:
    from interlock.robots.bridge import suite_factories

    for suite in suites.SUITES.values():
        assert all("==" in p or ">=" in p for p in suite.packages if p != "packaging")
        assert callable(getattr(suite_factories, suite.name.replace("-", "_")))


def test_the_list_says_what_is_not_installed() -> None:
    shown = CliRunner().invoke(command, ["list"]).output
    assert "metaworld            not installed    580 MB" in shown


def test_a_suite_that_is_not_there_names_the_way_out() -> None:
    with pytest.raises(BridgeError, match="interlock env install metaworld"):
        suites.serve_suite("metaworld", "reach-v3")
    with pytest.raises(BridgeError, match="no suite 'metawold'; did you mean 'metaworld'"):
        suites.suite_named("metawold")


def test_a_half_installed_suite_is_not_installed() -> None:
    suite = suites.suite_named("metaworld")
    suite.python.parent.mkdir(parents=True)
    suite.python.touch()
    assert not suite.installed
    (suite.folder / "interlock-suite").write_text("\n".join(suite.packages))
    assert suite.installed


def test_a_robosuite_style_environment_is_turned_into_ours() -> None:
    class Old:
        action_spec = (np.zeros(7), np.ones(7))

        def reset(self) -> dict:
            return {"cam_image": np.arange(12, dtype=np.uint8).reshape(2, 2, 3), "q": [1.0, 2.0]}

        def step(self, action: np.ndarray) -> tuple:
            return self.reset(), 0.5, False, {}

    made = SuiteEnv(
        Old(),
        "lift",
        {"observation/image": "cam_image"},
        lambda seen: np.asarray(seen["q"], np.float32),
        lambda: True,
        turn=True,
    )
    seen, _ = made.reset(seed=3)
    assert seen["observation/image"][0, 0].tolist() == [9, 10, 11]
    assert made.step(np.zeros(7))[2:] == (True, False, {"success": True})


def test_a_quarter_turn_about_z_is_an_axis_times_an_angle() -> None:
    half = np.sqrt(0.5)
    np.testing.assert_allclose(axis_angle(np.array([0, 0, half, half])), [0, 0, np.pi / 2])
    assert axis_angle(np.array([0.0, 0, 0, 1])).tolist() == [0, 0, 0]
