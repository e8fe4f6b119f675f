import asyncio
from pathlib import Path

import numpy as np
import pytest

from interlock.messages.arrays_msgpack import pack, unpack
from interlock.messages.contract import Contract
from interlock.operators.lerobot_dataset import DatasetWriter, problems_of, summary_of
from interlock.policies.robot import (
    Adapter,
    BatchedAgent,
    Ensembler,
    FunctionModel,
    LeRobotAdapter,
    LinkSettings,
    Model,
    ModelError,
    Observation,
    OpenPIAdapter,
    RobotAgent,
    RobotClient,
    RobotLinkError,
    RobotRefusedError,
    RobotTimeoutError,
    Shared,
    run_trials,
)


def right(seen: dict) -> np.ndarray:
    return np.array([1, 0], np.float32)


def drive(agent: RobotAgent, robot, **options):
    started = robot.reset(seed=0)
    run = agent.run(robot.url, robot.contract(), token=started["token"], **options)
    try:
        return asyncio.run(run), started["token"]
    finally:
        robot.result(started["token"])


def test_an_agent_drives_an_episode_to_success(robot) -> None:
    rollout, token = drive(RobotAgent(FunctionModel(right)), robot)
    assert rollout.terminated
    assert robot.result(token)["success"] is True


@pytest.mark.parametrize("shape", [(2,), (3, 2), (1, 3, 2)])
def test_a_model_may_give_one_action_or_a_chunk(robot, shape) -> None:
    calls = []

    def infer(seen: dict) -> np.ndarray:
        calls.append(seen["observation/state"][1])
        return np.broadcast_to(np.array([1, 0], np.float32), shape)

    rollout, _ = drive(RobotAgent(FunctionModel(infer)), robot)
    assert len(calls) == -(-rollout.steps // (3 if len(shape) > 1 else 1))


def test_only_the_first_actions_of_a_chunk_are_executed(robot) -> None:
    calls = []
    adapter = Adapter()
    adapter.chunk_size = 2

    def infer(seen: dict) -> np.ndarray:
        calls.append(seen)
        return np.tile(np.array([1, 0], np.float32), (10, 1))

    rollout, _ = drive(RobotAgent(FunctionModel(infer), adapter), robot)
    assert len(calls) == -(-rollout.steps // 2)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (np.zeros((2, 3, 2)), "for 1 observations"),
        (np.zeros(3), "takes \\[2\\]"),
        ("left", "no array of numbers"),
        (np.zeros((1, 0, 2)), "expected"),
    ],
)
def test_what_cannot_be_executed_is_the_models_error(robot, answer, text) -> None:
    with pytest.raises(ModelError, match=text):
        drive(RobotAgent(FunctionModel(lambda seen: answer)), robot)


def test_a_nan_of_the_model_is_refused_by_the_robot(robot) -> None:
    agent = RobotAgent(FunctionModel(lambda seen: np.full(2, np.nan)))
    with pytest.raises(RobotRefusedError, match=r"actions\[0\] is nan") as error:
        drive(agent, robot)
    assert error.value.code == "bad_action"


def test_clipped_actions_are_counted(robot) -> None:
    rollout, _ = drive(RobotAgent(FunctionModel(lambda seen: [2.0, 0.0])), robot)
    assert rollout.refusals == {"clipped": rollout.steps}


def test_an_agent_may_skip_the_constructor_of_its_base(robot) -> None:
    class Mine(RobotAgent):
        def __init__(self) -> None:
            self.model = FunctionModel(lambda b: np.tile([[[1.0, 0]]], (len(b["prompt"]), 1, 1)))
            self.model.batchable = True

    with BatchedAgent(Mine()) as batched:
        rollout, _ = drive(batched, robot)
    assert rollout.terminated


def test_a_whole_rollout_is_recorded(robot, tmp_path: Path) -> None:
    with DatasetWriter(tmp_path, robot.contract()) as writer:
        rollout, _ = drive(
            RobotAgent(FunctionModel(right)), robot, recorder=writer.episode("bring x to 1")
        )
    assert problems_of(tmp_path) == []
    assert summary_of(tmp_path)["frames"] == rollout.steps


def test_results_are_those_of_one_by_one_runs_in_plan_order(robot) -> None:
    trials = {f"seed-{seed}": {"seed": seed} for seed in (5, 3, 9, 1, 7)}
    agent = RobotAgent(FunctionModel(right))

    async def run(width: int, **options) -> dict:
        return await run_trials(Shared(robot, width=width), agent, trials, **options)

    alone, together = asyncio.run(run(1)), asyncio.run(run(4, max_concurrent=4))
    assert alone == together
    assert list(together) == list(trials)
    assert all(result["success"] for result in together.values())


def test_a_trial_that_fails_is_its_own(robot) -> None:
    def infer(seen: dict) -> np.ndarray:
        return np.zeros(3) if seen["observation/state"][0] < -0.5 else right(seen)

    trials = {str(seed): {"seed": seed} for seed in range(6)}
    agent = RobotAgent(FunctionModel(infer))
    results = asyncio.run(run_trials(Shared(robot, width=4), agent, trials))
    failed = [id for id, result in results.items() if "error" in result]
    assert 0 < len(failed) < 6
    assert all("ModelError" in results[id]["error"] for id in failed)


def test_a_group_runs_each_trial_several_times(robot) -> None:
    agent = RobotAgent(FunctionModel(right))
    results = asyncio.run(run_trials(Shared(robot, width=4), agent, {"a": {"seed": 1}}, group=3))
    assert list(results) == ["a/0", "a/1", "a/2"]


def test_nobody_there_is_one_line() -> None:
    with pytest.raises(RobotLinkError, match=r"cannot reach the robot at ws://127\.0\.0\.1:9"):
        asyncio.run(RobotClient.connect("ws://127.0.0.1:9"))


def test_a_server_that_says_nothing_is_given_up() -> None:
    async def run() -> None:
        import websockets

        async def quiet(socket) -> None:
            await socket.send(b"\x80")
            await socket.wait_closed()

        async with websockets.serve(quiet, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            settings = LinkSettings(observation_timeout_s=0.1)
            client = await RobotClient.connect(f"ws://127.0.0.1:{port}", settings=settings)
            with pytest.raises(RobotTimeoutError, match=r"within 0\.1 s"):
                await client.get_observation()

    asyncio.run(run())


def test_a_server_without_slots_is_driven_too() -> None:
    async def run() -> float:
        import websockets

        async def plain(socket) -> None:
            await socket.send(pack({}))
            x = 0.0
            while True:
                await socket.send(pack({"state": np.array([x], np.float32)}))
                x += float(unpack(await socket.recv())["actions"][0])

        async with websockets.serve(plain, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            async with await RobotClient.connect(f"ws://127.0.0.1:{port}") as client:
                assert (await client.get_observation()).terminated is False
                return float((await client.step(np.array([0.5]))).data["state"][0])

    assert asyncio.run(run()) == 0.5


def test_cameras_that_share_a_name_keep_their_whole_key() -> None:
    camera = {"role": "observation", "type": "rgb", "dtype": "uint8", "shape": [8, 8, 3]}
    contract = Contract.from_json(
        {
            "features": {
                "left/image": camera,
                "right/image": camera,
                "action": {"role": "action", "shape": [1]},
            }
        }
    )
    adapter = LeRobotAdapter()
    adapter.bind(contract)
    image = np.zeros((8, 8, 3), np.uint8)
    adapted = adapter.adapt_observation(
        Observation(data={"left/image": image, "right/image": image}), "go"
    )
    assert sorted(adapted) == [
        "observation.images.left_image",
        "observation.images.right_image",
        "task",
    ]


def test_somebodys_traceback_is_cut_to_its_last_line() -> None:
    async def run() -> None:
        import websockets

        async def broken(socket) -> None:
            await socket.send('Traceback (most recent call last):\n  File "/x.py"\nKeyError: 2\n')

        async with websockets.serve(broken, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            with pytest.raises(RobotRefusedError, match=r"connection: KeyError: 2$"):
                await RobotClient.connect(f"ws://127.0.0.1:{port}")

    asyncio.run(run())


def test_cameras_must_match_by_number_and_name(robot) -> None:
    contract = robot.contract()
    with pytest.raises(ModelError, match=r"the model has 2 cameras .* the robot 1"):
        LeRobotAdapter(["a", "b"]).bind(contract)
    with pytest.raises(ModelError, match="no camera wrist; the robot has observation/image"):
        LeRobotAdapter({"wrist": "a"}).bind(contract)
    with pytest.raises(ModelError, match="does not show observation/imag;"):
        OpenPIAdapter({"observation/imag": "x"}).bind(contract)


def test_lerobot_sees_state_images_and_task(robot) -> None:
    class Looking(Model):
        def infer(self, batch) -> np.ndarray:
            self.batch = batch
            return np.array([1, 0], np.float32)

    model = Looking()
    agent = RobotAgent(model, LeRobotAdapter(), max_steps=1)
    drive(agent, robot, prompt="go")
    assert model.batch["task"] == "go"
    assert model.batch["observation.images.image"].shape == (3, 32, 40)
    assert model.batch["observation.images.image"].max() <= 1
    assert model.batch["observation.state"].dtype == np.float32


def test_the_ensembler_averages_what_chunks_say_about_now() -> None:
    blend = Ensembler(horizon=2, alpha=0.0, switches=(1,))
    first = np.array([[1, 1], [2, 1], [3, 1]], np.float32)
    assert blend.add(first).tolist() == [1, 1]
    second = np.array([[4, -1], [5, -1]], np.float32)
    assert blend.add(second).tolist() == [3, -1]
    assert blend.add(second).tolist() == [4.5, -1]


def test_an_agent_with_an_ensembler_infers_at_every_step(robot) -> None:
    calls = []

    def infer(seen: dict) -> np.ndarray:
        calls.append(seen)
        return np.tile(np.array([1, 0], np.float32), (5, 1))

    rollout, _ = drive(RobotAgent(FunctionModel(infer), ensembler=Ensembler()), robot)
    assert len(calls) == rollout.steps
