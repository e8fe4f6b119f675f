"""Turn what was typed after ``robo`` into a request, and the verb table into help and tools."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from interlock.messages.errors import nearest
from interlock.trials.errors import UsageError
from interlock.trials.verbs import VERBS, Parameter, Verb, check_arguments, find_verb

if TYPE_CHECKING:
    from collections.abc import Sequence


def parse_words(words: Sequence[str]) -> tuple[Verb, dict[str, Any]]:
    """Return the verb and its checked values.

    Raises:
        UsageError: If the words are not a well-formed request.
    """
    if not words:
        raise UsageError("no verb; try `robo help`")
    verb = find_verb(words[0])
    options, positions = _split(verb, list(words[1:]))
    return verb, check_arguments(verb, {**_by_position(verb, positions), **options})


def parse_line(line: str) -> tuple[Verb, dict[str, Any]]:
    """Return the verb and values of one line of a script, with or without ``robo`` in front."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        raise UsageError(f"cannot read line {line[:80]!r}: {error}") from error
    return parse_words(words[1:] if words[:1] == ["robo"] else words)


def wants_help(words: Sequence[str]) -> bool:
    """Return whether the words ask for help; such words never act."""
    return not words or words[0] == "help" or any(word in ("-h", "--help") for word in words)


def help_text(words: Sequence[str]) -> str:
    """Return help for one verb, or for all."""
    named = [word for word in words if word.replace("-", "_") in VERBS]
    if named:
        verb = find_verb(named[0])
        rows = [f"  {p.name.replace('_', '-')}: {p.help}{_limits(p)}" for p in verb.parameters]
        return "\n".join([verb.usage(), f"  {verb.help}", *rows])
    rows = [f"  {verb.usage()}\n      {verb.help}" for verb in VERBS.values()]
    return "\n".join(["robo: act on the robot of this task, through its Gate", *rows])


def tool_schemas() -> list[dict[str, Any]]:
    """Return every verb as a tool: name, description and JSON schema of its input."""
    return [
        {
            "name": verb.name,
            "description": verb.help,
            "input_schema": {
                "type": "object",
                "properties": {p.name: _schema(p) for p in verb.parameters},
                "required": [p.name for p in verb.parameters if p.required],
                "additionalProperties": False,
            },
        }
        for verb in VERBS.values()
    ]


def _split(verb: Verb, words: list[str]) -> tuple[dict[str, Any], list[str]]:
    known = {"--" + p.name.replace("_", "-"): p for p in verb.parameters if p.option}
    options: dict[str, Any] = {}
    positions: list[str] = []
    while words:
        word = words.pop(0)
        name, _, joined = word.partition("=")
        if not name.startswith("--"):
            positions.append(word)
            continue
        if name not in known:
            raise UsageError(f"{verb.spoken}: no option {name!r}; {nearest(name, known)}")
        parameter = known[name]
        if parameter.kind == "flag":
            options[parameter.name] = True
            continue
        if not joined and not words:
            raise UsageError(f"{verb.spoken}: {name} needs a value. Usage: {verb.usage()}")
        options[parameter.name] = _value(verb, parameter, joined or words.pop(0))
    return options, positions


def _by_position(verb: Verb, words: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for parameter in verb.parameters:
        if parameter.option or not words:
            continue
        if parameter.kind == "numbers":
            values[parameter.name] = [_value(verb, parameter, word) for word in words]
            words = []
        elif parameter.kind == "words":
            values[parameter.name], words = words, []
        elif parameter.kind == "text":
            values[parameter.name], words = " ".join(words), []
        else:
            values[parameter.name] = _value(verb, parameter, words[0])
            words = words[1:]
    if words:
        raise UsageError(f"{verb.spoken}: nothing takes {words[0]!r}. Usage: {verb.usage()}")
    return values


def _value(verb: Verb, parameter: Parameter, word: str) -> Any:
    if parameter.kind not in ("number", "numbers", "whole"):
        return word
    try:
        return float(word)
    except ValueError:
        raise UsageError(
            f"{verb.spoken}: {parameter.name} must be a number, got {word!r}"
        ) from None


def _limits(parameter: Parameter) -> str:
    if parameter.high == float("inf"):
        return ""
    return f" ({parameter.low:g} to {parameter.high:g})"


def _schema(parameter: Parameter) -> dict[str, Any]:
    kinds = {"number": "number", "whole": "integer", "flag": "boolean"}
    schema: dict[str, Any] = {"description": parameter.help}
    if parameter.kind in ("numbers", "words"):
        item = "number" if parameter.kind == "numbers" else "string"
        schema |= {"type": "array", "items": {"type": item}}
        if parameter.count:
            schema |= {"minItems": parameter.count, "maxItems": parameter.count}
        return schema
    schema["type"] = kinds.get(parameter.kind, "string")
    if parameter.high != float("inf"):
        schema |= {"minimum": parameter.low, "maximum": parameter.high}
    return schema
