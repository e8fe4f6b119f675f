"""The unix socket behind ``robo``: one JSON line in, one JSON line out, many clients at once.

A request is ``{"verb": "act", "action": [...]}``, or ``{"argv": ["act", "0.1", ...]}`` as typed.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from interlock.messages.errors import InterlockError
from interlock.trials.command_line import help_text, parse_words, tool_schemas, wants_help
from interlock.trials.errors import UsageError
from interlock.trials.verbs import check_arguments, find_verb

if TYPE_CHECKING:
    from pathlib import Path

    from interlock.trials.episode_thread import EpisodeThread

MAX_LINE = 64 * 1024
MAX_CLIENTS = 32
READ_S = 5.0


class RoboServer:
    """Listens on a unix socket and hands each request to the episode."""

    def __init__(self, path: Path, episode: EpisodeThread) -> None:
        self.path = path
        self._episode = episode
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._clients: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener.bind(str(path))
        self._listener.listen(MAX_CLIENTS)
        threading.Thread(target=self._accept, name="robo-server", daemon=True).start()

    def close(self) -> None:
        """Stop listening and hang up on everyone."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.path.unlink(missing_ok=True)
        with self._lock:
            clients, self._clients = self._clients, set()
        for client in clients:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                full = len(self._clients) >= MAX_CLIENTS
                if not full:
                    self._clients.add(client)
            if full:
                _send(client, {"ok": False, "exit": 1, "error": f"over {MAX_CLIENTS} clients"})
                client.close()
                continue
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, contextlib.suppress(OSError):
                while (line := _read_line(client)) is not None:
                    _send(client, self.answer(line))
        finally:
            with self._lock:
                self._clients.discard(client)

    def answer(self, line: bytes) -> dict[str, Any]:
        """Answer one request line; a bad one gets an error, never an exception."""
        try:
            request = json.loads(line)
            if not isinstance(request, Mapping):
                raise UsageError("a request is a JSON object")
            if "tools" in request:
                return {"ok": True, "exit": 0, "tools": tool_schemas()}
            if "argv" in request:
                return self._answer_words(request["argv"])
            values = {key: value for key, value in request.items() if key != "verb"}
            verb = find_verb(request.get("verb"))
            return self._episode.submit(verb, check_arguments(verb, values))
        except InterlockError as error:
            return {"ok": False, "exit": 2, "error": str(error)}
        except (ValueError, RecursionError) as error:
            return {"ok": False, "exit": 2, "error": f"not one line of JSON: {error}"}

    def _answer_words(self, words: object) -> dict[str, Any]:
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise UsageError("argv is a list of words")
        if wants_help(words):
            return {"ok": True, "exit": 0, "help": help_text(words)}
        verb, values = parse_words(words)
        return self._episode.submit(verb, values)


def _read_line(client: socket.socket) -> bytes | None:
    """Return the next line; None at the end. Once begun, a line must be whole within READ_S."""
    client.settimeout(None)
    data = b""
    while not data.endswith(b"\n"):
        try:
            part = client.recv(min(MAX_LINE + 1 - len(data), MAX_LINE))
        except TimeoutError:
            _send(client, {"ok": False, "exit": 2, "error": f"no whole line within {READ_S} s"})
            return None
        if not part:
            return None
        data += part
        if len(data) > MAX_LINE:
            _send(client, {"ok": False, "exit": 2, "error": f"a line over {MAX_LINE} bytes"})
            return None
        client.settimeout(READ_S)
    client.settimeout(None)
    return data


def _send(client: socket.socket, reply: Mapping[str, Any]) -> None:
    with contextlib.suppress(OSError):
        client.sendall(json.dumps(reply).encode() + b"\n")
