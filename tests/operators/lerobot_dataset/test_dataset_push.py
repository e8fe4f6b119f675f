"""Push a dataset with huggingface_hub itself, to a stand-in for the hub on this machine."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from interlock.messages.contract import Contract
from interlock.operators.lerobot_dataset import DatasetError, DatasetWriter, push

hub = pytest.importorskip("huggingface_hub", reason="pip install huggingface_hub")


class StandIn(BaseHTTPRequestHandler):
    """Creates repositories, takes commits with their files inside, and tags."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path, state = urlsplit(self.path).path, self.server.state
        if state.get("refuse"):
            return self.answer(403, {"error": "no write access"})
        if path == "/api/repos/create":
            state["create"] = json.loads(body)
            return self.answer(200, {"url": f"{self.server.url}/datasets/me/set"})
        if path.endswith("/preupload/main"):
            asked = json.loads(body)["files"]
            files = [
                {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in asked
            ]
            return self.answer(200, {"files": files})
        if path.endswith("/commit/main"):
            lines = [json.loads(line) for line in body.splitlines()]
            for line in lines:
                if line["key"] == "file":
                    value = line["value"]
                    state["files"][value["path"]] = base64.b64decode(value["content"])
            url = f"{self.server.url}/datasets/me/set/commit/{'0' * 40}"
            return self.answer(
                200, {"success": True, "commitOid": "0" * 40, "commitUrl": url, "hookOutput": ""}
            )
        if "/tag/" in path:
            state["tag"] = json.loads(body)["tag"]
            return self.answer(200, {})
        return self.answer(404, {"error": path})

    def do_GET(self) -> None:
        if self.server.state.get("refuse"):
            return self.answer(403, {"error": "no write access"})
        return self.answer(200, {"id": "me/set", "sha": "0" * 40, "siblings": []})

    def answer(self, status: int, value: dict) -> None:
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    made = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    made.url = f"http://127.0.0.1:{made.server_port}"
    made.state = {"files": {}}
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    contract = Contract.from_json(
        {
            "features": {
                "observation/state": {"role": "observation", "dtype": "float32", "shape": [1]},
                "action": {"role": "action", "shape": [1]},
            }
        }
    )
    with DatasetWriter(tmp_path / "set", contract) as writer:
        episode = writer.episode("go")
        episode.add({"observation/state": np.zeros(1, np.float32)}, np.zeros(1, np.float32))
        episode.end()
    return tmp_path / "set"


def test_every_file_arrives_and_the_version_is_marked(server, folder: Path) -> None:
    api = hub.HfApi(endpoint=server.url, token="hf_test")
    url = push(folder, "me", private=True, api=api)
    assert url.endswith("/datasets/me/set")
    assert server.state["create"]["visibility"] == "private"
    assert server.state["tag"] == "v3.0"
    for path in ("meta/info.json", "data/chunk-000/file-000.parquet", "meta/tasks.parquet"):
        assert server.state["files"][path] == (folder / path).read_bytes()


def test_a_hub_that_refuses_is_one_line(server, folder: Path) -> None:
    server.state["refuse"] = True
    api = hub.HfApi(endpoint=server.url, token="hf_test")
    with pytest.raises(DatasetError, match=r"the hub did not take me/set: .*403"):
        push(folder, "me/set", private=False, api=api)
