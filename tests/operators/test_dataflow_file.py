import pytest

from interlock.messages import SettingsError
from interlock.operators.dataflow_file import read_dataflow_file

TEXT = """\
# A comment.
nodes:
  - id: eye
    path: eye.py
    env:
      WIDTH: 3
    outputs: [image]
  - id: parts.in
    module: hand.yml
  - id: pair
    operator:
      python: op.py
      inputs:
        image: eye/image
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "flow.yml").write_text(TEXT)
    return read_dataflow_file(tmp_path / "flow.yml")


@pytest.mark.parametrize(
    ("node", "item", "line"),
    [
        ("eye", "", 3),
        ("eye", "path", 4),
        ("eye", "WIDTH", 6),
        ("eye", "image", 7),
        ("eye", "unknown", 3),
        ("pair", "image", 14),
    ],
)
def test_a_place_is_the_line_of_the_item_or_else_of_its_node(file, node, item, line):
    assert file.place(node, item) == f"{file.path}:{line}"


def test_a_node_that_came_out_of_a_module_is_placed_at_the_module(tmp_path):
    text = "nodes:\n  - id: hand\n    module: hand.yml\n"
    (tmp_path / "flow.yml").write_text(text)
    found = read_dataflow_file(tmp_path / "flow.yml")
    assert found.has_modules
    assert found.place("hand.finger", "state") == f"{found.path}:2"


def test_a_place_that_is_not_known_is_the_file(file):
    assert file.place("nobody") == str(file.path)


def test_a_file_without_nodes_is_no_dataflow(tmp_path):
    (tmp_path / "a.yml").write_text("a: 1\n")
    with pytest.raises(SettingsError, match="expected nodes:"):
        read_dataflow_file(tmp_path / "a.yml")
