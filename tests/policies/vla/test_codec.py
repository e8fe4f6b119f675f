"""The openpi codec: golden bytes, what is normalised, what is refused."""

import contextlib
import io
import json

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.policies.vla.arrays import to_native
from interlock.policies.vla.codec import FramePacker, Limits, pack, pack_json, unpack, unpack_json
from interlock.policies.vla.errors import ReplyError

GOLDEN_ARRAY = bytes.fromhex(
    "81a7616374696f6e7384c40b5f5f6e6461727261795f5fc3c40464617461c4080000000000000000"
    "c4056474797065a33c6634c4057368617065920102"
)
GOLDEN_SCALAR = bytes.fromhex(
    "81a17683c40d5f5f6e7067656e657269635f5fc3c40464617461cb3ff8000000000000c4056474797065a33c6634"
)


def test_an_array_is_written_byte_for_byte_as_openpi_writes_it():
    assert pack({"actions": np.zeros((1, 2), np.float32)}) == GOLDEN_ARRAY


def test_a_numpy_scalar_is_written_byte_for_byte_as_openpi_writes_it():
    assert pack({"v": np.float32(1.5)}) == GOLDEN_SCALAR


def test_a_large_array_that_is_not_contiguous_has_the_bytes_of_its_copy():
    image = np.arange(224 * 224 * 3, dtype=np.uint8).reshape(224, 224, 3)[::-1, ::-1]
    assert pack({"image": image}) == pack({"image": image.copy()})


def test_a_packer_that_keeps_its_memory_writes_the_same_frames_one_after_another():
    packer = FramePacker()
    for value in ({"a": np.zeros(9000)}, {"actions": np.zeros((1, 2), np.float32)}, {"b": [1]}):
        assert bytes(packer.pack(value)) == pack(value)
    with pytest.raises(ReplyError, match="does not cross the wire"):
        packer.pack({"a": np.zeros(9000), "b": np.array([object()])})
    assert bytes(packer.pack({"b": [1]})) == pack({"b": [1]})


def test_a_frame_that_somebody_still_looks_at_is_left_to_them():
    packer = FramePacker()
    first = packer.pack({"a": 1})
    looking = memoryview(first)
    assert bytes(packer.pack({"b": 2})) == pack({"b": 2})
    assert bytes(looking) == pack({"a": 1})


@pytest.mark.parametrize("convention", ["openpi", "msgpack-numpy", "npy"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "<i8", "<f2", "<f4", "<f8", "|b1", ">f4", "<U2"])
def test_every_plain_dtype_comes_back_with_its_values(convention, dtype):
    sent = np.array([[0, 1, 1]]).astype(dtype)
    back = unpack(pack({"a": sent}, convention))["a"]
    assert back.dtype.isnative or back.dtype.kind == "U"
    np.testing.assert_array_equal(back, sent)


def test_decoded_arrays_are_read_only_views_without_a_copy():
    frame = pack({"a": np.ones(5000, np.float32)})
    back = unpack(frame)["a"]
    assert not back.flags.writeable
    assert back.base is not None


@pytest.mark.parametrize("shape", [(), (0,), (0, 7), (3, 1)])
def test_scalars_and_empty_arrays_keep_their_shape(shape):
    assert unpack(pack({"a": np.zeros(shape, np.float32)}))["a"].shape == shape


def test_json_numpy_arrays_come_back():
    image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    np.testing.assert_array_equal(unpack_json(pack_json({"image": image}))["image"], image)


def test_bfloat16_is_widened_to_the_same_values():
    upper = (np.array([1.5, -2.0], "<f4").view("<u4") >> 16).astype("<u2")
    wire = {
        "actions": {"__ndarray__": True, "data": upper.tobytes(), "dtype": "bfloat16", "shape": [2]}
    }
    back = to_native(unpack(msgpack.packb(wire))["actions"], field="actions")
    assert (back.dtype, back.tolist()) == (np.float32, [1.5, -2.0])


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.array([1.5, -2.0], np.float16), np.float32),
        (np.array([1.5, -2.0], ">f4"), np.float32),
        (np.array([1.5, -2.0], np.float64), np.float64),
        (np.array([1, -2], np.int64), np.float64),
        ([1.5, -2.0], np.float64),
        ([[1, 2], [3, 4]], np.float64),
    ],
)
def test_numbers_become_native_floats_with_the_same_values(value, dtype):
    native = to_native(value, field="actions")
    assert native.dtype == dtype
    assert native.dtype.isnative
    np.testing.assert_array_equal(native, np.asarray(value))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (["a", "b"], "expected numbers"),
        ([True, False], "bool"),
        ([[1, 2], [3]], "ragged"),
        (None, "NoneType"),
        ({"x": 1}, "dict"),
    ],
)
def test_what_is_no_number_is_refused_by_field(value, said):
    with pytest.raises(ReplyError, match=f"field 'actions'.*{said}"):
        to_native(value, field="actions")


@pytest.mark.parametrize(
    "dtype", ["|V2", "|O", "<c8", "<M8[s]", "nonsense", "", "(2,3)f4", "f4,i4"]
)
def test_a_dtype_that_is_not_allowed_is_refused_naming_dtype_and_field(dtype):
    array = {b"__ndarray__": True, b"data": b"\0\0", b"dtype": dtype, b"shape": [1]}
    with pytest.raises(ReplyError, match=r"field 'outer\.list\[1\]': .*dtype"):
        unpack(msgpack.packb({"outer": {"list": [1, array]}}))


@pytest.mark.parametrize("shape", [[3], [-1], [1 << 40, 1 << 40], "x", [1.0], [1] * 9, [True]])
def test_a_shape_that_does_not_fit_its_bytes_is_refused(shape):
    array = {b"__ndarray__": True, b"data": b"\0" * 8, b"dtype": "<f4", b"shape": shape}
    with pytest.raises(ReplyError, match="field 'a'"):
        unpack(msgpack.packb({"a": array}))


def test_objects_are_not_sent():
    with pytest.raises(ReplyError, match="does not cross the wire"):
        pack({"a": np.array([object()])})


def test_a_frame_over_the_limit_is_refused_with_both_sizes():
    with pytest.raises(ReplyError, match=r"101 bytes, limit 100; raise wire\.max_frame_bytes"):
        unpack(b"x" * 101, Limits(frame_bytes=100))


def test_a_list_that_would_fill_memory_is_refused():
    with pytest.raises(ReplyError, match="not valid msgpack"):
        unpack(b"\xdd\xff\xff\xff\xff" + b"\xc0" * 1000)


def test_nesting_without_end_is_refused():
    with pytest.raises(ReplyError, match="not valid msgpack"):
        unpack(b"\x91" * 100_000)
    with pytest.raises(ReplyError, match="not valid JSON"):
        unpack_json(b"[" * 100_000)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused_and_never_crash(data):
    for read in (unpack, unpack_json):
        with contextlib.suppress(ReplyError):
            read(data)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(GOLDEN_ARRAY) - 1), st.integers(0, 255))
def test_one_changed_byte_is_decoded_or_refused_and_never_crashes(at, byte):
    frame = bytearray(GOLDEN_ARRAY)
    frame[at] = byte
    with contextlib.suppress(ReplyError):
        unpack(bytes(frame))


def test_json_without_arrays_stays_what_it_was():
    assert unpack_json(json.dumps({"a": [1, "x", None]}).encode()) == {"a": [1, "x", None]}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4), (2, 3, 4)])
def test_a_npy_file_as_numpy_writes_it_is_read(shape, order):
    sent = np.asarray(np.arange(np.prod(shape), dtype=np.float32).reshape(shape), order=order)
    file = io.BytesIO()
    np.save(file, sent, allow_pickle=False)
    frame = msgpack.packb({"a": {"__ndarray_class__": True, "as_npy": file.getvalue()}})
    np.testing.assert_array_equal(unpack(frame)["a"], sent)


def test_a_npy_file_with_a_crooked_header_is_refused_by_field():
    file = io.BytesIO()
    np.save(file, np.zeros((10, 7), np.float32))
    crooked = file.getvalue().replace(b"}", b"]", 1)
    with pytest.raises(ReplyError, match=r"field 'a': its \.npy file has no plain header"):
        unpack(msgpack.packb({"a": {"__ndarray_class__": True, "as_npy": crooked}}))
