"""Pictures: the same pixels as openpi's resize, turned and flipped as named."""

import hashlib

import numpy as np
import pytest

from interlock.operators.images import (
    decode_png,
    encode_png,
    prepare,
    resize,
    resize_with_pad,
    to_layout,
    turn,
)

#: Red channel of openpi_client 0.1.2's resize_with_pad of the same picture (Pillow 13.0.0).
OPENPI_ROWS = [
    [155, 118, 136, 142, 138, 152, 125, 103],
    [87, 107, 114, 128, 98, 152, 149, 127],
    [84, 132, 120, 116, 129, 126, 124, 115],
    [142, 147, 116, 111, 111, 77, 102, 119],
]
OPENPI_224 = "3b82a0b3920cd529137f02801d7bb2bd7f212e16253420407d9f77875e5a0395"

#: A picture with no symmetry: the letter F in white, one red corner.
CARD = np.zeros((8, 6, 3), np.uint8)
CARD[1:7, 1], CARD[1, 1:5], CARD[3, 1:4] = 255, 255, 255
CARD[0, 0] = (255, 0, 0)


def noise(height, width):
    return np.random.default_rng(7).integers(0, 256, (height, width, 3), dtype=np.uint8)


def test_a_padded_resize_has_openpis_pixels():
    result = resize_with_pad(noise(12, 20), height=8, width=8)
    assert np.abs(result[2:6, :, 0].astype(int) - OPENPI_ROWS).max() <= 1
    assert not result[:2].any()
    assert not result[6:].any()


def test_a_camera_picture_has_openpis_pixels():
    result = resize_with_pad(noise(480, 640), height=224, width=224)
    assert hashlib.sha256(result.tobytes()).hexdigest() == OPENPI_224


def test_a_picture_of_the_right_size_is_left_alone():
    assert resize_with_pad(CARD, height=8, width=6) is CARD
    assert resize(CARD, height=8, width=6) is CARD


@pytest.mark.parametrize("size", [(1, 300), (300, 1), (7, 5)])
def test_any_shape_fits_without_stretching(size):
    assert resize_with_pad(noise(*size), height=16, width=16).shape == (16, 16, 3)


@pytest.mark.parametrize(
    ("degrees", "flip", "corner"),
    [
        (0, "none", (0, 0)),
        (180, "none", (7, 5)),
        (0, "horizontal", (0, 5)),
        (0, "vertical", (7, 0)),
        (0, "both", (7, 5)),
        (90, "none", (5, 0)),
        (270, "none", (0, 7)),
    ],
)
def test_the_red_corner_ends_where_the_turn_says(degrees, flip, corner):
    turned = turn(CARD, degrees=degrees, flip=flip)
    reddest = turned[..., 0].astype(int) - turned[..., 1]
    assert np.unravel_index(np.argmax(reddest), reddest.shape) == corner


def test_a_half_turn_is_both_flips_and_no_single_one():
    half = turn(CARD, degrees=180, flip="none")
    assert np.array_equal(half, turn(CARD, degrees=0, flip="both"))
    assert not np.array_equal(half, turn(CARD, degrees=0, flip="vertical"))
    assert not np.array_equal(half, turn(CARD, degrees=0, flip="horizontal"))


@pytest.mark.parametrize("flip", ["none", "horizontal", "vertical", "both"])
@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize("stretch", [True, False])
def test_turning_the_small_picture_gives_the_pixels_of_turning_the_large_one(
    degrees, flip, stretch
):
    picture, size = noise(61, 94), {"height": 33, "width": 40}
    turned = np.ascontiguousarray(turn(picture, degrees=degrees, flip=flip))
    expected = (resize if stretch else resize_with_pad)(turned, **size)
    result = prepare(picture, degrees=degrees, flip=flip, stretch=stretch, **size)
    assert np.abs(result.astype(int) - expected).max() <= 1


def test_channels_first_moves_only_the_axis():
    assert to_layout(CARD, "chw").shape == (3, 8, 6)
    assert to_layout(CARD, "chw")[0, 0, 0] == 255
    assert to_layout(CARD, "hwc") is CARD


def test_a_png_comes_back_and_what_is_none_is_refused():
    np.testing.assert_array_equal(decode_png(encode_png(CARD)), CARD)
    with pytest.raises(ValueError, match="not a PNG"):
        decode_png(b"GIF89a")
    with pytest.raises(ValueError, match="6x8 pixels, limit 10"):
        decode_png(encode_png(CARD), most_pixels=10)
