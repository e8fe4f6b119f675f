"""Our own agents, react and show-harness, with a model that is a real HTTP server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.upstream import Upstream
from trial_worlds import make_task

from interlock.trials.errors import InvalidSetupError, PreflightError
from interlock.trials.library import load
from interlock.trials.plan import Plan
from interlock.trials.runner import run_trial

SONNET = "vllm/some-model"


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    server = Upstream()
    monkeypatch.setenv("INTERLOCK_VLLM_URL", server.url)
    yield server
    server.close()


def says(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}


def calls(verb: str, /, **values: Any) -> dict[str, Any]:
    function = {"name": verb, "arguments": json.dumps(values)}
    call = {"id": "c1", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {
        "choices": [{"message": message}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1},
    }


def run(harness: str, out: Path, **more: Any) -> dict[str, Any]:
    plan = Plan(**{"task": make_task(), "harness": harness, "model": SONNET, "out": out, **more})
    return {**run_trial(plan), "folder": out / plan.name()}


def test_react_solves_a_task_by_calling_tools(tmp_path: Path, upstream: Upstream) -> None:
    upstream.replies = [
        calls("observe", image=True),
        calls("skill", name="pick", arguments=["cube"]),
        calls("skill", name="place", arguments=["pad"]),
        calls("done"),
    ]
    result = run("react", tmp_path)
    assert (result["reward"], result["exception"]) == (1.0, None)
    tools = {tool["function"]["name"] for tool in upstream.calls[0]["body"]["tools"]}
    assert {"act", "move_to", "skill", "give_up"} <= tools
    sent = json.dumps(upstream.calls[1]["body"]["messages"])
    assert "data:image/png;base64," in sent


def test_a_refused_tool_call_goes_back_to_the_model_with_its_way_out(
    tmp_path: Path, upstream: Upstream
) -> None:
    upstream.replies = [calls("move_to", position=[9, 9, 0]), calls("give_up", text="too far")]
    result = run("react", tmp_path)
    assert (result["outcome"], result["reward"]) == ("gave_up", 0.0)
    assert "Stay within 0.5 m" in json.dumps(upstream.calls[1]["body"]["messages"])


def test_a_model_that_only_talks_ends_the_trial(tmp_path: Path, upstream: Upstream) -> None:
    result = run("react", tmp_path)
    assert (result["outcome"], result["exception"]) == ("agent_exited", None)


def test_a_provider_that_refuses_every_call_is_not_the_models_failure(
    tmp_path: Path, upstream: Upstream
) -> None:
    upstream.plan = [(401, {})] * 5
    result = run("react", tmp_path)
    assert (result["reward"], result["exception"]["type"]) == (None, "ProviderError")


def test_show_harness_plans_and_moves_unit_by_unit(tmp_path: Path, upstream: Upstream) -> None:
    upstream.replies = [
        says('["go there"]'),
        *[says("MV_LEFT")] * 6,
        *[says("I choose MV_FWD.")] * 5,
        says("DONE"),
    ]
    result = run("show-harness", tmp_path, task=load("cubepick-reach"), seed=1)
    assert result["exception"] is None
    assert result["outcome"] in ("done", "success_reached")
    assert result["steps"] >= 10
    steps = json.loads((result["folder"] / "trajectory.json").read_text())["steps"]
    assert [step["tool"] for step in steps if step["tool"]][:2] == ["MV_LEFT", "MV_LEFT"]


def test_show_harness_asks_a_served_model_for_one_token(
    tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_SHOW_HARNESS_URL", upstream.url)
    upstream.replies = [says("MV_RIGHT"), says("DONE")]
    result = run("show-harness", tmp_path, model="show-harness/served")
    assert (result["outcome"], result["exception"]) == ("done", None)
    assert upstream.calls[0]["body"]["max_tokens"] == 8
    text = json.dumps(upstream.calls[0]["body"]["messages"])
    assert "cube" not in text.replace("Move a cube", "")


def test_show_harness_moves_no_other_robot(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetupError, match="mean nothing on 'metaworld'"):
        run("show-harness", tmp_path, task=make_task(world="metaworld"))


def test_a_served_model_without_an_address_is_found_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INTERLOCK_SHOW_HARNESS_URL", raising=False)
    with pytest.raises(PreflightError, match="set INTERLOCK_SHOW_HARNESS_URL"):
        run("show-harness", tmp_path, model="show-harness/served")
