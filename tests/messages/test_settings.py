"""YAML that is wrong is refused by place, key and nearest name."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from interlock.messages import SettingsError
from interlock.messages.settings import build, parse_yaml, read_yaml


@dataclass(frozen=True, kw_only=True)
class Inner:
    """One nested part."""

    radius_m: float

    def __post_init__(self) -> None:
        if not self.radius_m > 0:
            raise ValueError(f"radius_m must be positive, got {self.radius_m}")


@dataclass(frozen=True, kw_only=True)
class Outer:
    """Everything a setting can be."""

    max_age_ms: float
    name: str = "x"
    mode: Literal["a", "b"] = "a"
    zones: list[Inner] = field(default_factory=list)
    limit: tuple[float, ...] = ()
    size: tuple[float, float] | None = None
    named: dict[str, int] = field(default_factory=dict)
    file: Path | None = None


def test_every_kind_of_value_is_built() -> None:
    text = """{max_age_ms: 3, mode: b, zones: [{radius_m: 1}], limit: [1, 2.5], size: [1, 2],
        named: {k: 3}, file: a/b}"""
    outer = build(Outer, parse_yaml(text, where="t.yml"), where="t.yml")
    assert outer == Outer(
        max_age_ms=3.0,
        mode="b",
        zones=[Inner(radius_m=1.0)],
        limit=(1.0, 2.5),
        size=(1.0, 2.0),
        named={"k": 3},
        file=Path("a/b"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{max_age: 3}", "t.yml: unknown key 'max_age'; did you mean 'max_age_ms'?"),
        ("{}", "t.yml: key 'max_age_ms' is missing"),
        ("{max_age_ms: fast}", "t.yml: max_age_ms: expected a number, got str 'fast'"),
        ("{max_age_ms: .nan}", "t.yml: max_age_ms: expected a number, got NaN"),
        ("{max_age_ms: true}", "t.yml: max_age_ms: expected a number, got bool 'True'"),
        ("{max_age_ms: 1, mode: c}", "t.yml: mode: expected one of 'a', 'b', got str 'c'"),
        ("{max_age_ms: 1, zones: [{radius_m: -1}]}", "zones[0]: radius_m must be positive, got -1"),
        ("{max_age_ms: 1, zones: [{radius: 1}]}", "zones[0]: unknown key 'radius'"),
        ("{max_age_ms: 1, size: [1]}", "t.yml: size: expected 2 values, got 1"),
        ("{max_age_ms: 1, named: {k: 1.5}}", "named.k: expected a whole number, got float '1.5'"),
        ("{max_age_ms: 1, max_age_ms: 2}", "line 1: key 'max_age_ms' is given twice"),
        ("[1]", "t.yml: expected keys and values, got list"),
        ("{a: ", "t.yml, line 1:"),
    ],
)
def test_a_wrong_setting_is_named(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as error:
        build(Outer, parse_yaml(text, where="t.yml"), where="t.yml")
    assert message in str(error.value)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file or directory"):
        read_yaml(tmp_path / "none.yml")
