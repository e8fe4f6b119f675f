import json
import socket

import pytest

from interlock.robots.bridge import BridgeError, BusyError
from interlock.robots.bridge.control import MAX_LINE_BYTES


def ask(port: int, line: bytes) -> dict:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as link:
        link.sendall(line + b"\n")
        return json.loads(link.makefile().readline())


def test_reset_gives_prompt_and_token_and_result_grades(serve, arm) -> None:
    served = serve(arm(1))
    started = served.control.call("reset", start=3)
    assert started["prompt"] == "start at 3"
    client = served.dial()
    client.claim(started["token"])
    client.act(0.1, 0)
    grade = served.control.call("result", token=started["token"])
    assert grade == {"success": True, "score": 1.0, "total_reward": 1.0}
    assert served.control.call("result", token=started["token"]) == grade


def test_answers_carry_the_id_of_their_request(serve) -> None:
    port = serve().server.control_port
    answer = ask(port, b'{"jsonrpc":"2.0","id":"a7","method":"url"}')
    assert answer["id"] == "a7"
    assert answer["result"]["url"].startswith("ws://127.0.0.1:")


def test_the_manifest_holds_the_contract(serve) -> None:
    [capability] = serve().control.call("capabilities", name="left")["capabilities"]
    assert (capability["name"], capability["protocol"]) == ("left", "openpi/0")
    assert capability["params"]["contract"]["control_rate"] == 50


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"[" * 100_000, -32700),
        (b"[1]", -32600),
        (b'{"id":1}', -32600),
        (b'{"id":{},"method":"url"}', -32600),
        (b'{"id":1,"method":"url","params":[1]}', -32602),
        (b'{"id":1,"method":"format"}', -32000),
        (b'{"id":1,"method":"result","params":{"token":5}}', -32000),
        (b'{"id":1,"method":"result","params":{"token":"x"}}', -32000),
        (b"\xff\xfe", -32700),
    ],
)
def test_a_bad_request_is_an_error_not_an_end(serve, line: bytes, code: int) -> None:
    served = serve()
    error = ask(served.server.control_port, line)["error"]
    assert error["code"] == code
    assert "Traceback" not in error["message"]
    assert served.control.call("url")["url"] == served.url


def test_a_line_over_the_limit_ends_only_its_connection(serve) -> None:
    served = serve()
    answer = ask(served.server.control_port, b"x" * (MAX_LINE_BYTES + 10))
    assert "a line is over" in answer["error"]["message"]
    assert served.reset()


def test_a_task_the_robot_refuses_leaves_the_slot_free(serve) -> None:
    served = serve()
    with pytest.raises(BridgeError, match=r"e-[0-9a-f]{8}: the robot failed \(TypeError\)"):
        served.reset(strat=1)
    assert served.reset(start=1)


def test_a_full_bridge_is_busy_and_waiting_is_bounded(serve) -> None:
    served = serve()
    served.reset()
    with pytest.raises(BusyError, match="all 1 slots are claimed"):
        served.control.reset({}, wait_s=0.1)


def test_the_control_plane_asks_for_the_token_too(serve) -> None:
    served = serve(token="s3cret")
    assert ask(served.server.control_port, b'{"id":1,"method":"url"}')["error"]["code"] == -32000
    assert served.control.call("url")["url"] == served.url


def test_a_contract_of_thousands_of_names_fits(serve, arm) -> None:
    names = [f"joint_{i:06d}" for i in range(8000)]
    state = {"role": "observation", "dtype": "float32", "shape": [2]}

    class Wide(arm):
        def describe(self) -> dict:
            action = {"role": "action", "names": names}
            return {"features": {"observation/state": state, "action": action}}

    contract = serve(Wide()).control.call("contract")["contract"]
    assert len(contract["features"]["action"]["names"]) == 8000


def test_a_robot_that_fails_to_grade_gives_its_slot_back(serve, arm) -> None:
    class Ungraded(arm):
        def result(self, slot: int) -> dict:
            raise RuntimeError("no referee")

    served = serve(Ungraded())
    grade = served.control.call("result", token=served.reset())
    assert (grade["score"], grade["success"]) == (0.0, False)
    assert "the robot failed (RuntimeError)" in grade["error"]
    assert served.reset()
