"""What a stamp keeps, and what it refuses."""

import pytest

from interlock.messages import Basis, MessageError, Output, Stamp

BASIS = Basis(source="camera", output="image", seq=4, observed_ns=10, received_ns=30)
STAMP = Stamp(source="tracker", seq=2, observed_ns=10, sent_ns=40, basis=(BASIS,))


def test_a_stamp_survives_the_trip_through_metadata() -> None:
    assert Stamp.from_metadata(STAMP.to_metadata(), where="tracker/objects") == STAMP


def test_metadata_holds_plain_python_values_only() -> None:
    for value in STAMP.to_metadata().values():
        items = value if isinstance(value, list) else [value]
        assert {type(item) for item in items} <= {int, str}


@pytest.mark.parametrize(
    ("field", "value", "got"),
    [("seq", None, "nothing"), ("seq", "7", "str '7'"), ("sent_ns", True, "bool True")],
)
def test_a_broken_field_is_named_with_what_was_expected(
    field: str, value: object, got: str
) -> None:
    metadata = STAMP.to_metadata() | {field: value}
    with pytest.raises(MessageError, match=f"cam/image: stamp field '{field}': expected int, got"):
        Stamp.from_metadata(metadata, where="cam/image")
    assert got


@pytest.mark.parametrize(
    "change",
    [
        {"basis": "camera/image"},
        {"basis": ["camera/image"] * 65},
        {"basis_seq": [1, 2]},
        {"basis_seq": ["1"]},
        {"basis_received_ns": None},
        {"basis": ["camera"]},
    ],
)
def test_a_broken_basis_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(MessageError, match="basis"):
        Stamp.from_metadata(STAMP.to_metadata() | change, where="cam/image")


def test_a_derived_message_keeps_the_oldest_observation() -> None:
    older = Basis(source="sim", output="state", seq=1, observed_ns=5, received_ns=30)
    stamp = Output(output="objects", message=None, basis=(BASIS, older)).stamp(
        source="tracker", seq=0, now_ns=99
    )
    assert (stamp.observed_ns, stamp.sent_ns) == (5, 99)


def test_a_message_without_basis_was_observed_when_it_was_sent() -> None:
    stamp = Output(output="status", message=None).stamp(source="gate", seq=0, now_ns=99)
    assert stamp.observed_ns == 99
