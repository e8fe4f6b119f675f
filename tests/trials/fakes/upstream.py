"""A stand-in for a model provider: a real HTTP server that answers as it is told."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Upstream:
    """Answers in every wire; ``plan`` holds (status, headers) for the next calls."""

    def __init__(self) -> None:
        self.plan: list[tuple[int, dict[str, str]]] = []
        self.replies: list[dict] = []
        self.calls: list[dict] = []
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                body = json.loads(self.rfile.read(size))
                headers = {key.lower(): value for key, value in self.headers.items()}
                upstream.calls.append({"path": self.path, "headers": headers, "body": body})
                status, extra = upstream.plan.pop(0) if upstream.plan else (200, {})
                reply = upstream.reply(self.path) if status == 200 else {"error": "busy"}
                data = json.dumps(reply).encode()
                self.send_response(status)
                for key, value in extra.items():
                    self.send_header(key, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def reply(self, path: str) -> dict:
        if self.replies:
            return self.replies.pop(0)
        if "generateContent" in path:
            return {"usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 10}}
        if path.endswith("/chat/completions"):
            message = {"role": "assistant", "content": "hello"}
            usage = {"prompt_tokens": 100, "completion_tokens": 10}
            return {"choices": [{"message": message}], "usage": usage}
        return {"content": [], "usage": {"input_tokens": 100, "output_tokens": 10}}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
