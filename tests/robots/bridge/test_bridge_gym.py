from pathlib import Path

import gymnasium
import numpy as np
import pytest
from click.testing import CliRunner

from interlock.cli.contract import contract as contract_command
from interlock.messages.contract import Contract
from interlock.robots.bridge import BridgeError, gym
from interlock.robots.bridge.gym_batch import GymBatch
from interlock.robots.bridge.gym_sim import GymRobot
from interlock.robots.bridge.gym_target import target_of

TARGETS = Path(__file__).with_name("gym_targets.py")
ODD = f"{TARGETS}:make_odd"


def robot(target: object, **options: object) -> GymRobot:
    build = options.pop("build", {})
    return GymRobot(target_of(target, build, **options))


def test_every_kind_of_observation_is_derived() -> None:
    contract = Contract.from_json(robot(ODD).describe())
    found = {name: (f.type, f.dtype, f.shape) for name, f in contract.observations.items()}
    assert found["chw"] == ("rgb", "uint8", (3, 16, 17))
    assert contract.features["chw"].representation == "CHW"
    assert contract.features["hwc"].representation == "HWC"
    assert found["gray"] == ("gray", "uint8", (16, 16))
    assert found["depth"] == ("depth", "float32", (16, 16))
    assert found["touch"][1:] == ("int32", (3,))
    assert found["mode"][1:] == ("int64", (1,))
    assert found["note"] == ("language", "string", None)
    assert contract.control_rate_hz == 25


def test_names_that_collide_are_told_apart() -> None:
    contract = Contract.from_json(robot(ODD).describe())
    assert contract.features["left/q"].names == ("left_q_0", "left_q_1")
    assert contract.features["right/q"].names == ("right_q_0", "right_q_1")
    assert "observation/reward" in contract.features
    assert list(contract.observations)[-1] == "note"


def test_a_mixed_action_is_one_row() -> None:
    odd = robot(ODD)
    contract = Contract.from_json(odd.describe())
    assert contract.action.names == ("grip_0", "move_0", "move_1")
    odd.reset()
    odd.step(np.array([1, 0.5, -0.5], np.float32))
    [action] = odd._env.acted
    assert action["grip"] == 1
    assert action["move"].tolist() == [0.5, -0.5]


def test_half_a_choice_is_refused(serve) -> None:
    client = serve(robot("CartPole-v1")).driven(seed=0)
    answer = client.act(0.5)
    assert answer["error"]["message"] == "actions[0]=0.5 must be a whole number"


def test_cartpole_runs_and_its_reward_is_the_score(serve) -> None:
    served = serve(robot("CartPole-v1"))
    token = served.reset(seed=0)
    client = served.dial()
    assert client.claim(token)["obs"].shape == (4,)
    while not client.act(1)["terminated"]:
        pass
    grade = served.control.call("result", token=token)
    assert grade["score"] == grade["total_reward"] > 5


def test_success_outranks_shaped_reward(serve) -> None:
    served = serve(robot(ODD))
    token = served.reset()
    client = served.dial()
    client.claim(token)
    client.act(1, 0, 0)
    assert client.act(1, 0, 0)["terminated"] is True
    grade = served.control.call("result", token=token)
    assert grade == {"score": 1.0, "success": True, "total_reward": 3.0}


def test_a_misspelt_argument_is_an_error_that_names_the_nearest() -> None:
    odd = robot(ODD, episodic=("level",))
    with pytest.raises(BridgeError, match="no argument 'sede'; did you mean 'seed'"):
        odd.reset(sede=1)
    with pytest.raises(BridgeError, match="no argument 'sise'; did you mean 'size'"):
        robot(ODD, build={"sise": 3})
    odd.reset(level=3)
    assert odd.get_observation()[0]["mode"].tolist() == [3]


def test_a_changed_build_argument_rebuilds() -> None:
    odd = robot(ODD)
    odd.reset(size=20)
    assert odd.get_observation()[0]["gray"].shape == (20, 20)


def test_the_prompt_is_the_environments_own_or_the_task() -> None:
    assert robot(ODD).reset() == "look at everything"
    assert robot("CartPole-v1").reset(seed=3) == "seed=3"


def test_a_constructed_environment_is_rebuilt_from_its_spec() -> None:
    target = target_of(gymnasium.make("Pendulum-v1", g=5.0), {})
    assert target.make({}).unwrapped.g == 5.0
    with pytest.raises(BridgeError, match="pass a factory"):
        target_of(gymnasium.Env(), {})


def test_what_another_process_cannot_import_is_refused() -> None:
    with pytest.raises(BridgeError, match="not at module level"):
        gym(lambda: None)
    with pytest.raises(BridgeError, match="has no 'make_od'; did you mean 'make_odd'"):
        robot(f"{TARGETS}:make_od")
    with pytest.raises(BridgeError, match="needs width; pass it"):
        robot(f"{TARGETS}:needs")


def test_a_vector_environment_resets_single_rows() -> None:
    made = gymnasium.make_vec(
        "CartPole-v1",
        2,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.DISABLED},
    )
    batch = GymBatch(Prepared(made))
    batch.reset(seed=0)
    batch.step(np.ones((2, 1), np.float32))
    before = batch.get_observation()[0]["obs"].copy()
    assert batch.can_reset_slots
    batch.reset_slots((1,), seed=5)
    after = batch.get_observation()[0]["obs"]
    assert (after[0] == before[0]).all()
    assert (after[1] != before[1]).any()


class Prepared:
    """A target whose environment is already there."""

    def __init__(self, env: object) -> None:
        self._env, self.build, self.name, self.fps = env, {}, "prepared", None

    def make(self, build: dict) -> object:
        return self._env

    def split(self, task: dict) -> tuple:
        return {}, task.get("seed"), None


def test_the_contract_of_an_environment_is_shown_and_checked() -> None:
    shown = CliRunner().invoke(contract_command, ["show", "CartPole-v1"]).output
    assert "action  action  discrete  float32  1  limits 0 to 1" in shown
    checked = CliRunner().invoke(contract_command, ["check", ODD]).output
    assert checked == f"{ODD}: sound, 11 features\n"
