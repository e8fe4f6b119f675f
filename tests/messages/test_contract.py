import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from interlock.cli.contract import contract as command
from interlock.messages.contract import Contract, ContractError, read_contract
from interlock.messages.contract_schema import STATE_TYPES, json_schema

ARM = {
    "robot_type": "panda",
    "control_rate": 20,
    "features": {
        "observation/image": {
            "role": "observation",
            "type": "rgb",
            "dtype": "uint8",
            "shape": [4, 6, 3],
            "state_representation": "HWC",
        },
        "observation/state": {
            "role": "observation",
            "dtype": "float32",
            "shape": [2],
            "names": ["a", "b"],
            "stats": {"mean": None, "std": None, "min": [], "max": 1.0},
        },
        "action": {
            "role": "action",
            "dtype": "float32",
            "shape": [2],
            "state_type": "JOINT_ABS_POS",
            "state_representation": "REAL",
            "limits": {"min": [-1, None], "max": 1},
        },
    },
}


def changed(feature: str, **change: object) -> dict:
    data = json.loads(json.dumps(ARM))
    data["features"][feature].update(change)
    return data


def test_a_contract_splits_into_cameras_vectors_and_one_action() -> None:
    contract = Contract.from_json(ARM)
    assert list(contract.cameras) == ["observation/image"]
    assert list(contract.vectors) == ["observation/state"]
    assert contract.action.low is not None
    assert contract.action.low.tolist() == [-1, -np.inf]
    assert contract.action.is_absolute is True
    assert contract.to_json() == ARM


@pytest.mark.parametrize(
    ("feature", "change", "text"),
    [
        ("action", {"limit": {}}, "unknown key 'limit'; did you mean 'limits'"),
        ("action", {"role": "acton"}, "did you mean 'action'"),
        ("action", {"limits": {"min": [0], "max": [1]}}, "min holds 1 numbers, the feature 2"),
        ("action", {"limits": {"min": 2, "max": 1}}, "min 2 is above max 1 at 0"),
        ("action", {"limits": {"min": 2}}, "needs both min and max"),
        ("action", {"shape": [0]}, "sizes of 1 or more"),
        ("action", {"state_type": "JOINT_ABS_PSO"}, "did you mean 'JOINT_ABS_POS'"),
        ("action", {"state_representation": "XYZ_EULXYZ"}, "does not fit 'JOINT_ABS_POS'"),
        ("observation/state", {"names": ["a"]}, "1 names for shape [2]"),
        ("observation/state", {"names": ["a", "a"]}, "name 'a' is given twice"),
        ("observation/state", {"order": "6-2"}, "must look like '0-6'"),
        ("observation/state", {"dtype": "float31"}, "did you mean 'float32'"),
        ("observation/image", {"state_representation": "XYZ"}, "does not fit 'rgb'"),
    ],
)
def test_what_others_leave_descriptive_is_checked(feature: str, change: dict, text: str) -> None:
    with pytest.raises(ContractError) as error:
        Contract.from_json(changed(feature, **change))
    assert text in str(error.value)
    assert feature in str(error.value)


def test_every_problem_is_reported_at_once() -> None:
    data = changed("action", role="observation")
    data["control_rate"] = 0
    data["features"]["reward"] = {"role": "observation"}
    with pytest.raises(ContractError) as error:
        Contract.from_json(data)
    assert len(error.value.problems) == 3


def test_the_schema_names_the_same_symbols() -> None:
    feature = json_schema()["properties"]["features"]["additionalProperties"]
    assert feature["properties"]["state_type"]["enum"] == list(STATE_TYPES)
    assert "EE_DEL_POSE" in STATE_TYPES


def test_a_value_is_checked_against_its_feature() -> None:
    state = Contract.from_json(ARM).features["observation/state"]
    assert state.problems(np.zeros(2, np.float32)) == []
    assert "shape [3]" in state.problems(np.zeros(3, np.float32))[0]
    assert "NaN" in state.problems(np.array([0, np.nan], np.float32))[0]
    assert "float64" in state.problems(np.zeros(2))[0]


def test_show_and_check_print_one_line_per_fact(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(ARM))
    bad.write_text(json.dumps(changed("action", role="acton")))
    assert "panda at 20 Hz" in CliRunner().invoke(command, ["show", str(good)]).output
    assert "sound, 3 features" in CliRunner().invoke(command, ["check", str(good)]).output
    result = CliRunner().invoke(command, ["check", str(bad)])
    assert result.exit_code == 1
    assert "did you mean 'action'" in result.output
    assert read_contract(good).robot_type == "panda"


def test_somebody_elses_contract_is_read_as_far_as_it_is_understood() -> None:
    theirs = {
        "control_rate": 15,
        "inference": {"mode": "sync"},
        "features": {
            "observation/image": {"role": "observation", "type": "rgb"},
            "observation/force": {"role": "observation", "type": "wrench", "names": ["x"]},
            "action": {"role": "action", "names": ["a", "b"], "normalization": "identity"},
        },
    }
    contract = Contract.from_json(theirs, strict=False)
    assert (contract.action.width, contract.control_rate_hz) == (2, 15)
    assert list(contract.cameras) == ["observation/image"]
    with pytest.raises(ContractError, match="inference"):
        Contract.from_json(theirs)
