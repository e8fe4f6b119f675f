from pathlib import Path

import pytest

from interlock.messages import SettingsError
from interlock.policies.errors import ProgramError
from interlock.policies.skills import SKILLS, Grasp, make_skill
from interlock.policies.skills.schema import parameters_schema, reference, summary

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "skills.md"


@pytest.mark.parametrize("name", sorted(SKILLS))
def test_every_skill_describes_itself_and_each_parameter(name):
    schema = parameters_schema(SKILLS[name])
    assert summary(SKILLS[name]).endswith(".")
    for field, described in schema["properties"].items():
        assert described["description"] != field
    numbers = {f for f, s in schema["properties"].items() if s.get("type") == "number"}
    assert all(
        f == "speed" or f == "turns" or f.rpartition("_")[2] in {"m", "n", "s"} for f in numbers
    )


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("grap", {}, "did you mean 'grasp'"),
        ("grasp", {"target": "cup", "force": 3}, "did you mean 'force_n'"),
        ("grasp", {"target": "cup", "force_n": "much"}, "expected a number"),
        ("grasp", {"target": "cup", "force_n": float("nan")}, "NaN"),
        ("grasp", {"target": "cup", "force_n": 700}, "outside 1 to 70"),
        ("grasp", {"target": [0.5, float("inf"), 0.1]}, "expected an object's name"),
        ("move_to", {}, "either target or joints_rad"),
        ("wait", {"seconds_s": -1}, "outside 0 to 3600"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_with_the_way_out(name, parameters, expected):
    with pytest.raises(SettingsError, match=expected):
        make_skill(name, parameters)


def test_an_update_that_does_not_fit_leaves_the_skill_as_it_was():
    skill = Grasp("cup_red")
    with pytest.raises(ProgramError, match="did you mean 'target'"):
        skill.update(targt="cup_blue")
    with pytest.raises(SettingsError):
        skill.update(force_n=0.0)
    assert (skill.target, skill.force_n) == ("cup_red", 40.0)


def test_the_reference_page_is_what_the_registry_says():
    assert REFERENCE.read_text() == reference()
