"""Messages to Arrow and back, through a real IPC stream as between processes."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from interlock.messages import Command, Image, MessageError, RobotState, decode, encode
from interlock.messages.codec import NAMES, TABLE


def through_ipc(payload: pa.Array) -> pa.Array:
    """Write the payload to an IPC stream and read it back, as dora does."""
    batch = pa.RecordBatch.from_arrays([payload], names=["payload"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return pa.ipc.open_stream(sink.getvalue()).read_next_batch().column(0)


def example(cls: type) -> Any:
    """A message of a type with distinct values in every field."""
    values: dict[str, Any] = {}
    for i, field in enumerate(TABLE[cls]):
        if field.scalar is not None:
            values[field.name] = {bool: True, int: 10 + i, float: i + 0.5, str: f"text {i} ü"}[
                field.scalar
            ]
        elif field.column is None:
            values[field.name] = ("a", "", f"name {i}")
        else:
            shape = (5,) if field.column.ndim == 1 else (3, 7)
            values[field.name] = (np.arange(np.prod(shape)).reshape(shape) + i).astype(
                field.column.dtype
            )
    return cls(**values)


def same(a: Any, b: Any) -> bool:
    """Equal field by field."""
    return all(
        np.array_equal(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(type(a))
    )


@pytest.mark.parametrize("cls", list(TABLE), ids=lambda c: c.__name__)
def test_every_message_type_survives_the_trip(cls: type) -> None:
    message = example(cls)
    payload, metadata = encode(message)
    assert same(decode(through_ipc(payload), metadata, where="a/b"), message)


@pytest.mark.parametrize("cls", list(TABLE), ids=lambda c: c.__name__)
def test_a_slice_of_a_longer_array_decodes_to_its_own_row(cls: type) -> None:
    first, second = encode(example(cls))[0], encode(example(cls))[0]
    both = pa.concat_arrays([first, second])
    assert same(decode(both.slice(1, 1), {"message": cls.__name__}, where="a/b"), example(cls))


@pytest.mark.parametrize("shape", [(0, 0), (0, 7), (1, 7), (50, 7)])
def test_a_chunk_of_any_length_survives(shape: tuple[int, int]) -> None:
    message = Command(task="t", space="joint", targets=np.ones(shape), period_ns=1)
    payload, metadata = encode(message)
    got = decode(through_ipc(payload), metadata, where="a/b").targets
    assert got.size == shape[0] * shape[1]
    assert got.shape[0] == shape[0]


def test_chunks_and_pictures_are_decoded_without_copying() -> None:
    payload, metadata = encode(Command(task="t", space="joint", targets=np.ones((50, 7))))
    received = through_ipc(payload)
    targets = decode(received, metadata, where="a/b").targets
    low = received.field("targets").buffers()
    inside = [b for b in low if b and b.address <= targets.ctypes.data < b.address + b.size]
    assert inside
    assert not targets.flags.writeable

    payload, metadata = encode(Image(pixels=np.zeros((224, 224, 3), np.uint8)))
    received = through_ipc(payload)
    pixels = decode(received, metadata, where="a/b").pixels
    assert pixels.ctypes.data == received.buffers()[1].address
    assert not pixels.flags.writeable


@pytest.mark.parametrize(
    ("encoding", "pixels"),
    [
        ("rgb8", np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)),
        ("32FC1", np.arange(6, dtype=np.float32).reshape(2, 3)),
        ("32SC1", np.arange(6, dtype=np.int32).reshape(2, 3) - 1),
        ("mono16", np.arange(6, dtype=np.uint16).reshape(2, 3)),
    ],
)
def test_every_kind_of_picture_survives(encoding: str, pixels: np.ndarray) -> None:
    image = Image(
        pixels=pixels, encoding=encoding, camera="front", world_from_camera=np.arange(7.0)
    )
    payload, metadata = encode(image)
    got = decode(through_ipc(payload), metadata, where="camera/image")
    assert same(got, dataclasses.replace(image, fovy_deg=0.0))


def test_a_picture_of_a_foreign_camera_needs_only_doras_own_metadata() -> None:
    payload = pa.array(np.zeros(12, np.uint8))
    metadata = {"encoding": "bgr8", "width": 2, "height": 2}
    assert decode(payload, metadata, where="cam/image").pixels.shape == (2, 2, 3)


def broken() -> list[Any]:
    """Payload, metadata and the text that must be in the error."""
    payload, metadata = encode(Command(task="t", space="joint", targets=np.ones((2, 7))))
    names = [f.name for f in payload.type]
    columns = {n: payload.field(n) for n in names}

    def rebuilt(**changes: pa.Array) -> pa.Array:
        merged = columns | changes
        return pa.StructArray.from_arrays(list(merged.values()), names=list(merged))

    without = {n: c for n, c in columns.items() if n != "targets"}
    null = pa.StructArray.from_arrays(list(columns.values()), names=names, mask=pa.array([True]))
    image = {"encoding": "rgb8", "width": 2, "height": 2}
    return [
        (payload, {}, "metadata 'message': expected a message type, got nothing"),
        (payload, {"message": "Commnd"}, "got 'Commnd'"),
        (payload, {"message": 7}, "got 7"),
        (pa.array([1.0]), metadata, "expected a struct of one row, got 1 rows of double"),
        (pa.concat_arrays([payload, payload]), metadata, "got 2 rows of struct"),
        (null, metadata, "expected a struct of one row"),
        (
            pa.StructArray.from_arrays(list(without.values()), names=list(without)),
            metadata,
            "Command field 'targets': expected list of float64 with 2 dimensions, got nothing",
        ),
        (
            rebuilt(targets=pa.array([[1.0]])),
            metadata,
            "Command field 'targets': expected list of float64 with 2 dimensions, got list",
        ),
        (rebuilt(task=pa.array([3])), metadata, "field 'task': expected string, got int64"),
        (rebuilt(task=pa.array([None], pa.string())), metadata, "field 'task' is null"),
        (rebuilt(period_ns=pa.array([1.5])), metadata, "field 'period_ns': expected int64"),
        (pa.array([1, 2], pa.uint8()), image, "expected 12 values of uint8, got 2 of uint8"),
        (pa.array(np.zeros(12)), image, "got 12 of double"),
        (pa.array([1], pa.uint8()), {"encoding": "jpeg"}, "Image encoding 'jpeg'"),
        (pa.array([1], pa.uint8()), image | {"width": "2"}, "needs height and width"),
        (pa.array([1], pa.uint8()), image | {"width": -2}, "needs height and width"),
    ]


@pytest.mark.parametrize(("payload", "metadata", "text"), broken())
def test_a_malformed_message_is_refused_by_edge_field_expected_and_got(
    payload: pa.Array, metadata: dict[str, Any], text: str
) -> None:
    with pytest.raises(MessageError) as error:
        decode(payload, metadata, where="policy/command")
    assert str(error.value).startswith("policy/command: ")
    assert text in str(error.value)


def test_what_is_no_message_cannot_be_sent() -> None:
    with pytest.raises(MessageError, match="RoboState"):
        encode(type("RoboState", (), {})())


def test_a_field_of_another_type_cannot_be_sent() -> None:
    with pytest.raises(MessageError, match="expected 2 dimensions, got 1"):
        encode(Command(task="t", space="joint", targets=np.ones(7)))
    with pytest.raises(MessageError, match="expected text, got int"):
        encode(Command(task=3, space="joint"))  # type: ignore[arg-type]


def test_columns_in_another_order_are_still_read_by_name() -> None:
    message = example(RobotState)
    payload, metadata = encode(message)
    names = [f.name for f in payload.type][::-1]
    turned = pa.StructArray.from_arrays([payload.field(n) for n in names], names=names)
    assert same(decode(turned, metadata, where="a/b"), message)


def test_every_name_on_the_wire_is_the_name_of_its_class() -> None:
    assert {name: cls.__name__ for name, cls in NAMES.items()} == {n: n for n in NAMES}
