"""What a robot shows and accepts: contract v0, read strictly, and arrays checked against it.

HUD and openpi leave these fields descriptive. Here a misspelt key, an unknown symbol, names that
do not match the shape, or limits that do not fit the action are errors before anything moves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from interlock.messages import contract_schema as schema
from interlock.messages.contract_feature import Feature, read_feature
from interlock.messages.contract_read import (
    ContractError,
    check_keys,
    read_rate,
    read_symbol,
    read_text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Contract", "ContractError", "Feature", "read_contract"]

DEFAULT_RATE_HZ = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """Everything an agent needs to know of a robot before it connects.

    Attributes:
        features: Every feature by its key on the wire, in the order they were declared.
        control_rate_hz: How often the robot takes an action.
        robot_type: Name of the robot, or None.
        raw: The contract as it was written, for the wire.
    """

    features: Mapping[str, Feature]
    control_rate_hz: float = DEFAULT_RATE_HZ
    robot_type: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: object, *, where: str = "contract", strict: bool = True) -> Contract:
        """Read a parsed contract.

        Args:
            data: The parsed JSON.
            where: Place named in errors.
            strict: False reads a contract somebody else wrote: what is not understood is left
                out, and only a contract without features is an error.

        Raises:
            ContractError: With every problem found, each naming its feature and key.
        """
        problems: list[str] = []
        if not isinstance(data, dict):
            raise ContractError([f"{where}: expected an object, got {type(data).__name__}"])
        check_keys(data, schema.TOP_KEYS, where=where, problems=problems)
        features = data.get("features")
        if not isinstance(features, dict):
            raise ContractError([*problems, f"{where}: key 'features' must be an object"])
        read_symbol(data, "version", (schema.VERSION,), where, problems)
        read_symbol(data, "robot_class", schema.ROBOT_CLASSES, where, problems)
        rate = read_rate(data, DEFAULT_RATE_HZ, where, problems)
        robot_type = read_text(data, "robot_type", where, problems)
        parsed = {
            str(name): read_feature(str(name), value, f"{where}: {name}", problems)
            for name, value in features.items()
        }
        _check_roles(parsed, where, problems)
        if problems and strict:
            raise ContractError(problems)
        return cls(features=parsed, control_rate_hz=rate, robot_type=robot_type, raw=data)

    def to_json(self) -> dict[str, Any]:
        """Return the contract as it goes over the wire."""
        return dict(self.raw)

    @property
    def action(self) -> Feature:
        """The one action feature."""
        found = next((f for f in self.features.values() if f.role == "action"), None)
        if found is None:
            raise ContractError(["the contract has no feature with role 'action'"])
        return found

    @property
    def observations(self) -> dict[str, Feature]:
        """Every observation feature by its key, in declared order."""
        return {n: f for n, f in self.features.items() if f.role == "observation"}

    @property
    def cameras(self) -> dict[str, Feature]:
        """Every image feature by its key, in declared order."""
        return {n: f for n, f in self.observations.items() if f.is_image}

    @property
    def vectors(self) -> dict[str, Feature]:
        """Every observation of numbers that is no image, by its key, in declared order."""
        skipped = ("language",)
        return {
            n: f
            for n, f in self.observations.items()
            if not f.is_image and f.type not in skipped and f.dtype != "string"
        }


def read_contract(path: Path) -> Contract:
    """Read a contract file.

    Raises:
        ContractError: If the file can't be read, is not JSON, or breaks the schema.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ContractError([f"cannot read {path}: {error.strerror}. Check the path."]) from error
    except ValueError as error:
        raise ContractError([f"{path}: not JSON: {error}"]) from error
    return Contract.from_json(data, where=path.name)


def _check_roles(features: Mapping[str, Feature], where: str, problems: list[str]) -> None:
    actions = [f.name for f in features.values() if f.role == "action"]
    if len(actions) != 1:
        problems.append(
            f"{where}: needs exactly one feature with role 'action', has {len(actions)} "
            f"({', '.join(actions) or 'none'})"
        )
    for name in actions:
        if features[name].width is None:
            problems.append(f"{where}: {name}: give the action a shape or names")
