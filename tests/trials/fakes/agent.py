"""A stand-in for four coding agents: speaks their real command lines and their real wires.

Installed under the name it plays. What it does follows a word ``PLAY:...`` in its prompt.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

NAME = Path(sys.argv[0]).name


def out(row):
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def option(*names):
    for name in names:
        if name in sys.argv:
            return sys.argv[sys.argv.index(name) + 1]
    return ""


def prompt():
    match NAME:
        case "claude":
            assert "--dangerously-skip-permissions" in sys.argv
            return option("-p")
        case "codex":
            assert sys.argv[1:3] == ["exec", "--json"]
            return sys.argv[-1]
        case "gemini":
            assert option("--approval-mode") == "yolo"
            return option("--prompt")
    assert "--exit-immediately" in sys.argv
    return option("-t")


def call_model():
    headers = {"Content-Type": "application/json"}
    body = {"model": "whatever", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 100}
    match NAME:
        case "claude":
            url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
            headers["x-api-key"] = os.environ["ANTHROPIC_API_KEY"]
        case "codex":
            settings = [a for a in sys.argv if "base_url=" in a]
            url = json.loads(settings[0].split("=", 1)[1]) + "/responses"
            headers["Authorization"] = "Bearer " + os.environ["INTERLOCK_GATEWAY_KEY"]
        case "gemini":
            base = os.environ["GOOGLE_GEMINI_BASE_URL"]
            url = f"{base}/v1beta/models/{option('--model')}:generateContent"
            headers["x-goog-api-key"] = os.environ["GEMINI_API_KEY"]
        case _:
            url = os.environ["OPENAI_API_BASE"] + "/chat/completions"
            headers["Authorization"] = "Bearer " + os.environ["OPENAI_API_KEY"]
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)


def say(command, output):
    match NAME:
        case "claude":
            use = {"type": "tool_use", "name": "Bash", "input": {"command": command}}
            result = {"type": "tool_result", "content": output}
            rows = [
                {"type": "assistant", "message": {"content": [use]}},
                {"type": "user", "message": {"content": [result]}},
            ]
        case "codex":
            item = {"type": "command_execution", "command": command, "aggregated_output": output}
            rows = [{"type": "item.completed", "item": item}]
        case "gemini":
            rows = [
                {"type": "tool_use", "tool_name": "shell", "parameters": {"command": command}},
                {"type": "tool_result", "output": output},
            ]
        case _:
            rows = []
            path = Path(option("-o"))
            data = json.loads(path.read_text()) if path.exists() else {"messages": []}
            data["messages"] += [
                {"role": "assistant", "content": command},
                {"role": "user", "content": output},
            ]
            path.write_text(json.dumps(data))
    for row in rows:
        out(row)


def shell(command):
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    say(command, done.stdout + done.stderr)


def survive():
    """Fork into a new session, ignore SIGTERM, and go on moving and writing."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            os.environ["I_AM"] = "SURVIVOR"
            code = (
                "import signal,subprocess,time\n"
                "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                "while True:\n"
                "    subprocess.run(['robo', 'wait', '1'], capture_output=True)\n"
                "    open('alive', 'a').write('x')\n"
                "    time.sleep(0.05)\n"
            )
            os.execv(sys.executable, [sys.executable, "-c", code, "INTERLOCK-SURVIVOR"])
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def main():
    text = prompt()
    play = text.split("PLAY:")[1].split()[0] if "PLAY:" in text else "solve"
    if play == "crash":
        sys.exit("something broke")
    if play == "survive":
        survive()
    if play == "flood":
        block = "x" * 1023 + "\n"
        for _ in range(20 * 1024):
            sys.stdout.write(block)
    out({"type": "environment", "values": dict(os.environ)})
    say("model", json.dumps(call_model()))
    for command in ("robo info", "robo skill pick cube", "robo skill place pad", "robo done ok"):
        shell(command)
    if NAME == "claude":
        usage = {"input_tokens": 7, "output_tokens": 3}
        out({"type": "result", "is_error": False, "usage": usage, "result": "ok"})


main()
