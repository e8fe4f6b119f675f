"""The package map of pyproject.toml: nothing missing from the wheel, nothing in anybody's way."""

import importlib
import sys
import tomllib
from importlib import metadata, resources
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOMS: dict[str, str] = PYPROJECT["tool"]["setuptools"]["package-dir"]
PACKAGES: list[str] = PYPROJECT["tool"]["setuptools"]["packages"]
SCRIPTS: dict[str, str] = PYPROJECT["project"]["scripts"]
#: Top-level names that our dependencies import; a node file of that name would shadow them,
#: because dora runs `python nodes/x.py` with nodes/ first on the path.
DEPENDENCIES = {"dora", "mujoco", "numpy", "pyarrow", "msgpack", "click", "rich", "yaml", "PIL"}


def test_every_folder_with_code_is_in_the_wheel() -> None:
    found = {
        "interlock." + ".".join(path.parent.relative_to(ROOT).parts)
        for room in ROOMS.values()
        for path in (ROOT / room).rglob("*.py")
        if "__pycache__" not in path.parts
    }
    assert found == set(PACKAGES)


def test_every_package_has_an_init_file() -> None:
    for package in PACKAGES:
        folder = ROOT.joinpath(*package.split(".")[1:])
        assert (folder / "__init__.py").is_file(), f"{folder} has no __init__.py"


def test_every_room_says_that_it_is_typed() -> None:
    assert [room for room in ROOMS.values() if not (ROOT / room / "py.typed").is_file()] == []


def test_tools_see_every_room_through_a_relative_link() -> None:
    for package, room in ROOMS.items():
        link = ROOT / ".pkg" / package.replace(".", "/")
        assert link.is_symlink(), f"{link} is no link"
        assert not link.readlink().is_absolute()
        assert link.resolve() == (ROOT / room).resolve()


def test_the_import_name_has_no_init_file_so_that_imports_never_go_through_the_links() -> None:
    assert not (ROOT / ".pkg" / "interlock" / "__init__.py").exists()
    assert ".pkg" not in sys.path


@pytest.mark.parametrize("path", sorted(ROOT.glob("nodes/[!_]*.py")), ids=lambda p: p.name)
def test_a_node_file_shadows_no_module(path: Path) -> None:
    installed = set(metadata.packages_distributions()) - {"interlock"}
    assert path.stem not in sys.stdlib_module_names | DEPENDENCIES | installed


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_console_script_points_at_a_function(script: str) -> None:
    module, _, function = SCRIPTS[script].partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_data_files_are_found_through_the_package() -> None:
    configs = resources.files("interlock.configs")
    assert configs.joinpath("scenes", "tabletop.yml").is_file()
    assert configs.joinpath("dataflows").is_dir()


def test_the_version_is_the_one_of_the_project() -> None:
    assert metadata.version("interlock") == PYPROJECT["project"]["version"]
