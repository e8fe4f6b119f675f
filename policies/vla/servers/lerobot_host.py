"""Serves a LeRobot policy over the http-json wire, from LeRobot's own environment.

Needs lerobot (with torch), Pillow and the standard library, and nothing of Interlock:

    python lerobot_host.py --policy lerobot/smolvla_libero --port 8000

Then, in Interlock's environment, use a preset `lerobot/*`. Nothing is pickled on the way.
"""

from __future__ import annotations

import argparse
import base64
import http.server
import io
import json
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from PIL import Image

#: Observation -> chunk, shape (horizon, width).
Predict = Callable[[Mapping[str, Any]], Any]

MOST_BYTES = 64 << 20
STATE = "eef_pos,eef_quat:axis_angle,gripper_qpos"


def axis_angle(xyzw: list[float]) -> list[float]:
    """Return axis times angle, in rad, of a quaternion x, y, z, w."""
    x, y, z, w = xyzw if xyzw[3] >= 0 else [-v for v in xyzw]
    sine = math.sqrt(x * x + y * y + z * z)
    factor = 2.0 * math.atan2(sine, w) / sine if sine > 1e-9 else 2.0
    return [factor * x, factor * y, factor * z]


def state_vector(state: Mapping[str, list[float]], order: str) -> list[float]:
    """Return the state in the order the policy was trained on.

    Args:
        state: Lists by name.
        order: Names with commas between; ``name:axis_angle`` turns a quaternion x, y, z, w.
    """
    found: list[float] = []
    for item in order.split(","):
        name, _, form = item.partition(":")
        found += axis_angle(state[name]) if form == "axis_angle" else list(state[name])
    return found


def picture(text: str) -> np.ndarray[Any, Any]:
    """Return a base64 PNG as RGB, shape (3, h, w), 0 to 1."""
    image = Image.open(io.BytesIO(base64.b64decode(text)), formats=["PNG"]).convert("RGB")
    return np.asarray(image, np.float32).transpose(2, 0, 1) / 255.0


def load(path: str, *, device: str, order: str) -> Predict:
    """Load a policy with its processors; return what answers one observation."""
    import torch
    from lerobot.configs.policies import PreTrainedConfig
    from lerobot.policies.factory import get_policy_class, make_pre_post_processors

    config = PreTrainedConfig.from_pretrained(path)
    config.device = device
    policy = get_policy_class(config.type).from_pretrained(path, config=config).to(device).eval()
    before, after = make_pre_post_processors(config, pretrained_path=path)

    def predict(seen: Mapping[str, Any]) -> Any:
        batch: dict[str, Any] = {
            f"observation.images.{name}": torch.from_numpy(picture(text))[None]
            for name, text in seen.get("images", {}).items()
        }
        numbers = state_vector(seen["state"], order)
        batch["observation.state"] = torch.tensor([numbers], dtype=torch.float32)
        batch["task"] = [str(seen.get("task", ""))]
        with torch.inference_mode():
            chunk = after(policy.predict_action_chunk(before(batch)))
        return chunk[0].float().cpu().numpy()

    return predict


class _Handler(http.server.BaseHTTPRequestHandler):
    predict: Predict
    reset: Callable[[], None]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer /health."""
        self._send(200 if self.path == "/health" else 404, {})

    def do_POST(self) -> None:
        """Answer /reset and /act."""
        size = int(self.headers.get("Content-Length", 0))
        if size > MOST_BYTES:
            self.close_connection = True
            self._send(413, {"error": f"{size} bytes, limit {MOST_BYTES}"})
            return
        body = self.rfile.read(size)
        if self.path == "/reset":
            self.reset()
            self._send(200, {})
            return
        started = time.perf_counter()
        try:
            actions = np.asarray(self.predict(json.loads(body)), np.float64)
        except Exception as error:
            # Whatever the model raises is told in one line; its traceback stays here.
            self._send(500, {"error": f"{type(error).__name__}: {error}"})
            return
        took_s = time.perf_counter() - started
        self._send(200, {"actions": actions.tolist(), "latency_s": took_s})

    def _send(self, status: int, answer: Mapping[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""


def make_handler(predict: Predict, reset: Callable[[], None]) -> type[_Handler]:
    """Return the handler class of a server around one policy."""
    made = {"predict": staticmethod(predict), "reset": staticmethod(reset)}
    return type("Handler", (_Handler,), made)


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", required=True, help="folder or hub name of the policy")
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--state", default=STATE, help="order of the state; NAME:axis_angle")
    options = parser.parse_args()
    predict = load(options.policy, device=options.device, order=options.state)
    handler = make_handler(predict, lambda: None)
    # One request at a time: the policy is not made for more.
    http.server.HTTPServer((options.host, options.port), handler).serve_forever()


if __name__ == "__main__":
    main()
