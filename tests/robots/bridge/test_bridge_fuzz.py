"""Mutated frames over both planes: no crash, no traceback to the peer, no other slot disturbed."""

import contextlib
import json
import socket

import numpy as np
from websockets.exceptions import ConnectionClosed

from interlock.benchmarks.wire_fuzz import mutated
from interlock.messages.arrays_msgpack import pack

FRAMES = 2000
CLAIM, ACTION = pack({"claim": "slot-0-0123456789abcdef"}), pack({"actions": np.zeros(2, "f4")})


def test_mutated_frames_disturb_nobody_else(serve, arm) -> None:
    rng = np.random.default_rng(0)
    served = serve([arm(), arm()], on_limit="clip")
    witness = served.driven()
    token = served.reset()
    for attempt in range(FRAMES // 10):
        client = served.dial()
        with contextlib.suppress(ConnectionClosed):
            first = pack({"claim": token}) if attempt % 3 else mutated(rng, CLAIM)
            client.send(first)
            answer = client.read()
            for _ in range(10):
                client.send(mutated(rng, ACTION))
                answer = client.read()
            if "error" in answer:
                assert "Traceback" not in json.dumps(answer)
        client.close()
        if attempt % 20 == 0:
            assert witness.act(0.0, 0.0)["meta"]["verdict"]["admitted"] is True
    assert witness.act(0.0, 0.0)["meta"]["seq"] == FRAMES // 200 + 1


def test_mutated_requests_disturb_nobody_else(serve) -> None:
    rng = np.random.default_rng(1)
    served = serve()
    line = b'{"jsonrpc":"2.0","id":1,"method":"result","params":{"token":"slot-0-ab"}}'
    for _ in range(FRAMES // 20):
        with socket.create_connection(("127.0.0.1", served.server.control_port), 5) as link:
            for _ in range(20):
                link.sendall(mutated(rng, line).replace(b"\n", b"") + b"\n")
            link.shutdown(socket.SHUT_WR)
            answers = link.makefile("rb").read()
        assert b"Traceback" not in answers
        assert answers.count(b"\n") == 20
    assert served.control.call("url")["url"] == served.url
