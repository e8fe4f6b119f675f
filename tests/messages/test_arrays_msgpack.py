import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.messages.arrays_msgpack import FrameError, pack, unpack

GOLDEN_ARRAY = bytes.fromhex(
    "81a7616374696f6e7384c40b5f5f6e6461727261795f5fc3c40464617461c4080000000000000000"
    "c4056474797065a33c6634c40573686170659201 02".replace(" ", "")
)
GOLDEN_SCALAR = bytes.fromhex(
    "81a17683c40d5f5f6e7067656e657269635f5fc3c40464617461cb3ff8000000000000c4056474797065a33c6634"
)


def test_bytes_are_those_of_openpi() -> None:
    assert pack({"actions": np.zeros((1, 2), np.float32)}) == GOLDEN_ARRAY
    assert pack({"v": np.float32(1.5)}) == GOLDEN_SCALAR


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=">f4").reshape(2, 3),
        np.zeros((0, 3), np.uint8),
        np.array(3, np.int64),
        np.array(["ab", "c"]),
        np.array([True, False]),
        np.arange(224 * 224 * 3, dtype=np.uint32).astype(np.uint8).reshape(224, 224, 3),
        np.arange(4000, dtype=np.float64).reshape(40, 100).T,
    ],
)
def test_arrays_come_back_with_dtype_and_shape(array: np.ndarray) -> None:
    back = unpack(pack({"x": array}))["x"]
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize(
    "value", [np.array([object()]), np.array([1j]), np.zeros(1, "V4"), np.datetime64(0, "s"), {1}]
)
def test_values_without_a_form_are_refused(value: object) -> None:
    with pytest.raises(FrameError):
        pack({"x": value})


def array_map(dtype: object = "<f4", shape: object = (2,), data: object = bytes(8)) -> bytes:
    return pack({b"__ndarray__": True, b"data": data, b"dtype": dtype, b"shape": shape})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"dtype": "|O"}, "does not cross the wire"),
        ({"dtype": "f4,f4"}, "dtype must be short text"),
        ({"shape": (3,)}, "needs 12 bytes, got 8"),
        ({"shape": (-1,)}, "sizes of 0 or more"),
        ({"shape": (2**62, 2**62)}, "needs"),
        ({"shape": "2"}, "must be a list"),
        ({"data": "x"}, "must be bytes"),
    ],
)
def test_an_array_that_does_not_fit_together_is_refused(change: dict, text: str) -> None:
    with pytest.raises(FrameError, match=text):
        unpack(array_map(**change))


def test_a_large_frame_is_refused_with_size_and_limit() -> None:
    with pytest.raises(FrameError, match="2006 bytes is over the limit of 1000"):
        unpack(pack({"x": b"0" * 2000}), max_bytes=1000)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=80), st.integers(0, len(GOLDEN_ARRAY) - 1), st.integers(0, 255))
def test_any_bytes_give_a_value_or_a_frame_error(noise: bytes, at: int, byte: int) -> None:
    mutated = bytearray(GOLDEN_ARRAY)
    mutated[at] = byte
    for frame in (noise, bytes(mutated), GOLDEN_ARRAY[:at]):
        with contextlib.suppress(FrameError):
            unpack(frame)
