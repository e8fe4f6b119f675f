"""Every dataflow that ships is sound, for our rules and for dora's."""

from pathlib import Path

import pytest
import yaml

from interlock.cli.dataflow_check import check_dataflow
from interlock.gate.graph import require_only_way

ROOT = Path(__file__).parents[1]
FILES = [ROOT / "dataflow.yml", *sorted(ROOT.glob("configs/dataflows/*.yml"))]


def name(file: Path) -> str:
    return file.stem


@pytest.mark.parametrize("file", FILES, ids=name)
def test_a_shipped_dataflow_is_sound(file):
    assert check_dataflow(file).problems == ()


@pytest.mark.parametrize("file", FILES, ids=name)
def test_the_gate_and_the_driver_would_start_in_it(file):
    require_only_way(yaml.safe_load(file.read_text()), file.parent)


@pytest.mark.parametrize("file", FILES, ids=name)
def test_it_says_what_it_is_for(file):
    assert file.read_text().startswith("# ")


def test_a_checkout_and_a_wheel_find_the_nodes_at_the_same_place():
    for file in FILES[1:]:
        for node in yaml.safe_load(file.read_text())["nodes"]:
            if "ros2" in node:  # dora's own bridge
                continue
            path = node.get("path") or node["operator"]["python"]
            assert path.startswith(("../../nodes/", "../../operators/"))
