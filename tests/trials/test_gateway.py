"""The gateway over its real socket, before a real HTTP server that plays the provider."""

import http.client
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.upstream import Upstream

from interlock.trials.gateway import Gateway
from interlock.trials.gateway import Upstream as Target
from interlock.trials.image_policy import REPLACED, limit_images
from interlock.trials.providers import Price
from interlock.trials.retry import RetryPolicy
from interlock.trials.spend import SpendCap, most_input_tokens, read_usage

CHAT = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 100}


class Call(http.client.HTTPConnection):
    """An HTTP connection over a unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("gateway")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


Open = Callable[..., Gateway]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


@pytest.fixture
def opened(tmp_path: Path, upstream: Upstream) -> Iterator[Open]:
    running: list[Gateway] = []

    def start(cap_usd: float = 1.0, max_images: int = 20) -> Gateway:
        target = Target(
            url=upstream.url,
            key="sk-real",
            key_header="Authorization",
            model="real-model",
            max_images=max_images,
        )
        cap = SpendCap(cap_usd=cap_usd, price=Price(input=10.0, output=100.0))
        running.append(Gateway(target, cap, tmp_path / "gateway.sock", tmp_path / "log.jsonl"))
        return running[-1]

    yield start
    for gateway in running:
        gateway.close()


def post(
    gateway: Gateway, body: Any, *, path: str = "/v1/chat/completions", key: str = ""
) -> tuple[int, dict[str, Any]]:
    call = Call(gateway.socket)
    headers = {"Authorization": f"Bearer {key or gateway.key}"}
    call.request("POST", path, json.dumps(body), headers)
    response = call.getresponse()
    return response.status, json.loads(response.read())


def test_a_call_is_forwarded_with_the_providers_key_and_our_model(
    opened: Open, upstream: Upstream
) -> None:
    gateway = opened()
    status, reply = post(gateway, {**CHAT, "model": "another-dearer-model"})
    assert (status, reply["choices"][0]["message"]["content"]) == (200, "hello")
    [call] = upstream.calls
    assert call["headers"]["authorization"] == "Bearer sk-real"
    assert call["body"]["model"] == "real-model"
    assert gateway.usage()["cost_usd"] == pytest.approx((100 * 10 + 10 * 100) / 1e6)


@pytest.mark.parametrize("key", ["sk-real", "sk-interlock-0", "x"])
def test_another_key_is_refused_and_costs_nothing(
    opened: Open, upstream: Upstream, key: str
) -> None:
    assert post(opened(), CHAT, key=key)[0] == 401
    assert upstream.calls == []


@pytest.mark.parametrize("path", ["/v1/files", "/", "/v1/../admin", "/v1/embeddings"])
def test_other_routes_are_not_served(opened: Open, upstream: Upstream, path: str) -> None:
    assert post(opened(), CHAT, path=path)[0] == 404
    assert upstream.calls == []


def test_the_most_a_call_can_cost_is_reserved_before_it_is_made(
    opened: Open, upstream: Upstream
) -> None:
    gateway = opened(cap_usd=0.02)
    assert post(gateway, {**CHAT, "max_tokens": 1000})[0] == 402
    assert upstream.calls == []
    assert gateway.cap_reached
    assert post(gateway, CHAT)[0] == 200


def test_an_answer_without_usage_counts_as_all_that_was_reserved(
    opened: Open, upstream: Upstream
) -> None:
    gateway = opened(cap_usd=0.02)
    upstream.replies = [{"choices": [{"message": {"content": "free?"}}]}]
    assert post(gateway, CHAT)[0] == 200
    assert gateway.usage()["cost_usd"] > 0.01
    assert post(gateway, CHAT)[0] == 402


def test_a_request_without_a_limit_gets_one(opened: Open, upstream: Upstream) -> None:
    post(opened(cap_usd=5.0), {"messages": []})
    assert upstream.calls[0]["body"]["max_completion_tokens"] == 16_384


@pytest.mark.parametrize("limit", [-5, 0, 1e9, "many", True])
def test_a_limit_that_is_none_is_replaced(opened: Open, upstream: Upstream, limit: Any) -> None:
    post(opened(cap_usd=5.0), {"messages": [], "max_tokens": limit, "n": 50})
    assert upstream.calls[0]["body"]["max_tokens"] == 16_384
    assert "n" not in upstream.calls[0]["body"]


def test_busy_answers_are_tried_again_and_the_call_succeeds(
    opened: Open, upstream: Upstream
) -> None:
    upstream.plan = [(429, {"Retry-After": "0"}), (529, {"Retry-After": "0"})]
    gateway = opened()
    assert post(gateway, CHAT)[0] == 200
    assert len(upstream.calls) == 3
    assert not gateway.every_call_failed


def test_a_provider_that_only_fails_is_its_own_fault(opened: Open, upstream: Upstream) -> None:
    upstream.plan = [(401, {})] * 3
    gateway = opened()
    assert post(gateway, CHAT)[0] == 401
    assert gateway.every_call_failed
    assert "HTTP 401" in gateway.last_error
    assert gateway.usage()["cost_usd"] == 0.0


@pytest.mark.parametrize("body", ["not json", [1], None])
def test_what_is_not_a_request_is_refused(opened: Open, upstream: Upstream, body: Any) -> None:
    assert post(opened(), body)[0] == 400
    assert upstream.calls == []


def test_the_servers_word_on_waiting_is_kept_with_jitter_and_a_cap() -> None:
    class Draw:
        def random(self) -> float:
            return 0.5

    policy, draw = RetryPolicy(), Draw()
    assert policy.wait_s(429, "8", 1, draw) == pytest.approx(8.4)
    assert policy.wait_s(429, "8", 3, draw) == pytest.approx(8.4)
    assert policy.wait_s(429, "4000", 1, draw) == pytest.approx(63.0)
    assert policy.wait_s(529, None, 3, draw) == pytest.approx(2.0)
    assert policy.wait_s(429, "Tue, 1 Dec", 1, draw) == pytest.approx(0.5)
    assert policy.wait_s(429, None, 9, draw) is None
    assert policy.wait_s(500, None, 3, draw) is None
    assert policy.wait_s(401, None, 1, draw) is None


def test_old_pictures_make_room_and_a_text_model_gets_none() -> None:
    def image(n: int) -> dict[str, Any]:
        return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{n}"}}

    body = {"messages": [{"role": "user", "content": [image(1), image(2), image(3)]}]}
    limited, replaced = limit_images(body, at_most=1)
    kept = limited["messages"][0]["content"]
    assert (replaced, kept[2]) == (2, image(3))
    assert kept[0] == {"type": "text", "text": REPLACED}
    assert limit_images(body, at_most=0)[1] == 3
    assert body["messages"][0]["content"][0] == image(1)


def test_a_bound_on_tokens_is_never_below_one_per_byte() -> None:
    assert most_input_tokens({"messages": [{"content": "x" * 1000}]}) >= 1000
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10**6}}
    assert most_input_tokens(picture) < 4000


@pytest.mark.parametrize(
    ("data", "usage"),
    [
        ({"usage": {"prompt_tokens": 5, "completion_tokens": 2}}, (5, 2)),
        ({"message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 3}}}, (8, 0)),
        ({"response": {"usage": {"input_tokens": 5, "output_tokens": 2}}}, (5, 2)),
        ({"usageMetadata": {"promptTokenCount": 5, "thoughtsTokenCount": 4}}, (5, 4)),
        ({"usage": None}, None),
        ([], None),
    ],
)
def test_usage_is_read_in_every_wire(data: Any, usage: tuple[int, int] | None) -> None:
    assert read_usage(data) == usage
