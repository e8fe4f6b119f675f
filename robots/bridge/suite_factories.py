"""Build environments of the suites; runs inside the environment of the suite only.

Every factory takes a ``task`` and returns something with gymnasium's `reset` and `step` that
reports ``success`` in its info.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.robots.bridge.faults import BridgeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Seen = Mapping[str, Any]

#: Steps LIBERO needs for its objects to come to rest after a reset.
_SETTLE_STEPS = 10


def metaworld(task: str = "reach-v3", *, camera: str | None = None) -> Any:
    """Return a task of Meta-World; 4 numbers: hand motion and gripper."""
    importlib.import_module("metaworld")
    gymnasium = importlib.import_module("gymnasium")
    options: dict[str, Any] = {"render_mode": "rgb_array", "camera_name": camera} if camera else {}
    return _named(gymnasium.make("Meta-World/MT1", env_name=task, **options), task)


def gymnasium_robotics(task: str = "FetchReach-v4", **options: Any) -> Any:
    """Return an environment of gymnasium-robotics by its id."""
    suite = importlib.import_module("gymnasium_robotics")
    gymnasium = importlib.import_module("gymnasium")
    gymnasium.register_envs(suite)
    return _named(gymnasium.make(task, **options), task)


def robosuite(
    task: str = "Lift", *, robot: str = "Panda", camera: str = "", size: int = 224
) -> Any:
    """Return a task of robosuite; the state is what its robot and object sensors say."""
    suite = importlib.import_module("robosuite")
    env = suite.make(
        task,
        robots=robot,
        has_renderer=False,
        has_offscreen_renderer=bool(camera),
        use_camera_obs=bool(camera),
        camera_names=camera or None,
        camera_heights=size,
        camera_widths=size,
        control_freq=20,
    )
    cameras = {"observation/image": f"{camera}_image"} if camera else {}
    return SuiteEnv(env, task, cameras, _robosuite_state, env._check_success)


def libero(task: str = "libero_10/0", *, size: int = 256, initial_state: int = 0) -> Any:
    """Return a task of LIBERO, ``suite/number``, as openpi's policies see it."""
    name, _, number = task.partition("/")
    benchmark = importlib.import_module("libero.libero.benchmark")
    wrapper = importlib.import_module("libero.libero.envs.env_wrapper")
    known = benchmark.get_benchmark_dict()
    if name.lower() not in known or not number.isdigit():
        raise BridgeError(f"no task {task!r}; write suite/number, e.g. libero_10/0")
    suite = known[name.lower()]()
    index = int(number)
    if index >= suite.get_num_tasks():
        raise BridgeError(f"{name} has tasks 0 to {suite.get_num_tasks() - 1}, not {index}")
    env = wrapper.ControlEnv(
        suite.get_task_bddl_file_path(index), camera_heights=size, camera_widths=size
    )
    states = suite.get_task_init_states(index)

    def settle(seed: int | None) -> Seen:
        env.seed(seed or 0)
        env.reset()
        state = states[(initial_state + (seed or 0)) % len(states)]
        seen: Seen = env.set_init_state(np.asarray(state))
        for _ in range(_SETTLE_STEPS):
            seen = env.step([0.0] * 6 + [-1.0])[0]
        return seen

    cameras = {
        "observation/image": "agentview_image",
        "observation/wrist_image": "robot0_eye_in_hand_image",
    }
    text = suite.get_task(index).language
    return SuiteEnv(env, text, cameras, _libero_state, env.check_success, start=settle, turn=True)


def _named(env: Any, task: str) -> Any:
    """Let the prompt be the task: these suites have no words for it."""
    env.unwrapped.task_description = task
    return env


class SuiteEnv:
    """A robosuite-style environment with gymnasium's interface.

    Args:
        env: Its ``reset()`` gives an observation, its ``step`` four values.
        task: The task in words.
        cameras: Its image keys by ours.
        state: From its observation to a vector.
        succeeded: Whether the task is done now.
        start: How to start an episode from a seed; None resets it.
        turn: Turn the images by half, as the policies of the suite were trained.
    """

    def __init__(
        self,
        env: Any,
        task: str,
        cameras: Mapping[str, str],
        state: Callable[[Seen], NDArray[np.float32]],
        succeeded: Callable[[], bool],
        *,
        start: Callable[[int | None], Seen] | None = None,
        turn: bool = False,
    ) -> None:
        self._env, self._cameras, self._state, self._succeeded = env, cameras, state, succeeded
        self._start = start or (lambda seed: env.reset())
        self._turn = turn
        self.task_description = task
        self.metadata = {"render_fps": 20}
        self.observation_space: Any = None
        spaces = importlib.import_module("gymnasium.spaces")
        width = len(env.env.action_spec[0] if hasattr(env, "env") else env.action_spec[0])
        self.action_space = spaces.Box(-1, 1, (width,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        """Start an episode."""
        return self._seen(self._start(seed)), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action; the episode ends with success or at the suite's own end."""
        seen, reward, done, _ = self._env.step(np.asarray(action, np.float64))
        success = bool(self._succeeded())
        return self._seen(seen), float(reward), success, bool(done), {"success": success}

    def close(self) -> None:
        """Close the environment."""
        self._env.close()

    def _seen(self, seen: Seen) -> dict[str, Any]:
        step = -1 if self._turn else 1
        images = {
            ours: np.ascontiguousarray(seen[theirs][::step, ::step])
            for ours, theirs in self._cameras.items()
        }
        return {**images, "observation/state": self._state(seen)}


def _robosuite_state(seen: Seen) -> NDArray[np.float32]:
    keys = sorted(k for k in seen if k.endswith("-state"))
    return np.concatenate([np.asarray(seen[key], np.float32).reshape(-1) for key in keys])


def _libero_state(seen: Seen) -> NDArray[np.float32]:
    """Return hand position, its rotation as axis times angle, and two fingers, shape (8,)."""
    parts = (
        seen["robot0_eef_pos"],
        axis_angle(np.asarray(seen["robot0_eef_quat"], np.float64)),
        seen["robot0_gripper_qpos"],
    )
    return np.concatenate(parts).astype(np.float32)


def axis_angle(xyzw: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a rotation as axis times angle, shape (3,), from a quaternion xyzw, shape (4,)."""
    w = float(np.clip(xyzw[3], -1.0, 1.0))
    sine = float(np.sqrt(1.0 - w * w))
    if sine < 1e-9:
        return np.zeros(3)
    angle: NDArray[np.float64] = xyzw[:3] * (2.0 * np.arccos(w) / sine)
    return angle
