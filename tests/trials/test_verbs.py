"""One table of verbs: nothing is clamped, everything wrong is named."""

import pytest

from interlock.trials.command_line import help_text, parse_words, tool_schemas, wants_help
from interlock.trials.errors import UsageError
from interlock.trials.verbs import VERBS


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("frobnicate", "no verb 'frobnicate'"),
        ("act", "action is missing"),
        ("act a b c", "must be a number, got 'a'"),
        ("act nan 0 0", "finite"),
        ("act inf 0 0", "finite"),
        ("act 0 0 0 --repeat 500", "1 to 50, got 500"),
        ("act 0 0 0 --repeat -5", "1 to 50, got -5"),
        ("act 0 0 0 --repeat 2.7", "whole number"),
        ("move-to 0 0", "3 numbers, got 2"),
        ("grip", "opening is missing"),
        ("grip 1.5", "0 to 1, got 1.5"),
        ("grip 1 2", "nothing takes '2'"),
        ("observe --camra top", "did you mean '--camera'"),
        ("observe --camera", "needs a value"),
        ("wait 0", "1 to 500, got 0"),
    ],
)
def test_a_bad_request_says_what_is_wrong(words: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_words(words.split())


def test_negative_numbers_are_values_not_options() -> None:
    verb, values = parse_words(["act", "-0.1", "0", "-1e-3", "--repeat", "3"])
    assert (verb.name, values) == ("act", {"action": [-0.1, 0.0, -0.001], "repeat": 3})


def test_help_never_acts() -> None:
    assert wants_help(["give-up", "--help"])
    assert "give-up" in help_text(["give-up", "--help"])
    assert all(verb.spoken in help_text([]) for verb in VERBS.values())


def test_every_verb_is_a_tool_with_its_limits() -> None:
    tools = {tool["name"]: tool["input_schema"] for tool in tool_schemas()}
    assert set(tools) == set(VERBS)
    assert tools["act"]["properties"]["repeat"]["maximum"] == 50
    assert tools["move_to"]["properties"]["position"]["minItems"] == 3
    assert tools["move_to"]["required"] == ["position"]
