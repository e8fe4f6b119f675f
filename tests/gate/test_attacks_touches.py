"""A task names what it touches: that opens no table, no zone, no person, not the arm itself."""

import numpy as np
import pytest

from interlock.gate.errors import GateConfigError
from interlock.robots import kinematics, panda

CHECKS = """
checks:
  path:
    margins_m: {MARGINS}
  recovery:
PEOPLE
zones:
  - name: window
    shape: box
    size_m: [0.1, 0.1, 0.1]
    position_m: [0.5, 0.5, 0.3]
    follows: "FOLLOWS"
"""


def configured(margins="", people="", follows=""):
    separation = f"  separation: {{people: [{people}]}}" if people else ""
    text = CHECKS.replace("MARGINS", margins).replace("PEOPLE", separation)
    return text.replace("FOLLOWS", follows)


def tool_at(x, y, z):
    found = kinematics.inverse(np.array([x, y, z, 0.0, 1.0, 0.0, 0.0]), panda.HOME)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "place"), [("table", (0.5, 0.0, -0.01)), ("window", (0.45, 0.45, 0.3))]
)
def test_a_task_that_says_it_touches_a_fixture_or_zone_is_kept_out_of_it(make_rig, name, place):
    rig = make_rig(configured())
    token = rig.task(touches=(name,))
    verdict = rig.send(token, tool_at(*place), 4000, ends_at_rest=True)
    assert not verdict.admitted
    assert f"path_{name}" in verdict.codes


def test_a_task_that_says_it_touches_a_link_may_not_fold_the_arm_into_itself(make_rig):
    folded = np.array([0.0, -1.7, 0.0, -3.0, 0.0, 0.2, 0.0])
    rig = make_rig(configured())
    codes = []
    for touches in ((), (*tuple(f"link{n}" for n in range(8)), "hand")):
        verdict = rig.send(rig.task(touches=touches), folded, 4000, ends_at_rest=True)
        codes.append(verdict.codes)
        rig.cancel(verdict.task)
    assert codes[0] == codes[1] != ()


def test_a_task_that_says_it_touches_a_person_keeps_the_margin_of_its_path(make_rig):
    rig = make_rig(configured(people="cup_red"))
    token = rig.task(touches=("cup_red",))
    rig.see(cup_red=np.array([0.5, 0.0, 0.25, 1.0, 0.0, 0.0, 0.0]))
    verdict = rig.send(token, tool_at(0.5, 0.0, 0.25), 4000, ends_at_rest=True)
    assert "path_cup_red" in verdict.codes


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"margins": "tabel: 0.1"}, "did you mean 'table'"),
        ({"people": "cup_rde"}, "did you mean 'cup_red'"),
        ({"follows": "cup_rde"}, "did you mean 'cup_red'"),
    ],
)
def test_a_guard_for_something_that_is_not_there_does_not_start(make_rig, fields, says):
    with pytest.raises(GateConfigError, match=says):
        make_rig(configured(**fields))


@pytest.mark.parametrize("name", ["table", "cup_red", "link3"])
def test_a_zone_with_the_name_of_something_else_does_not_start(make_rig, name):
    with pytest.raises(GateConfigError, match=name):
        make_rig(configured().replace("name: window", f"name: {name}"))


def test_a_margin_may_be_given_for_a_link(make_rig):
    assert make_rig(configured(margins="link5: 0.02")).gate.config.checks
