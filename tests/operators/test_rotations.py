"""Rotations, tried at an awkward attitude: 30 degrees about (1, 2, 3), never at identity only."""

import mujoco
import numpy as np
import pytest

from interlock.operators.rotations import (
    REPRESENTATIONS,
    axis_angle_from_wxyz,
    blend,
    euler_xyz_from_wxyz,
    inverse,
    matrix_from_wxyz,
    multiply,
    rotate,
    rpy_from_wxyz,
    unit,
    wxyz_from_axis_angle,
    wxyz_from_matrix,
)

AXIS = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
TILTED = wxyz_from_axis_angle(np.deg2rad(30) * AXIS)
RANDOM = unit(np.random.default_rng(3).normal(size=(200, 4)))


def same_rotation(a, b):
    return np.allclose(np.abs(np.sum(unit(a) * unit(b), axis=-1)), 1.0, atol=1e-12)


def test_the_tilted_quaternion_is_what_mujoco_makes_of_it():
    expected = np.zeros(4)
    mujoco.mju_axisAngle2Quat(expected, AXIS, np.deg2rad(30))
    np.testing.assert_allclose(TILTED, expected, atol=1e-15)


@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_every_form_comes_back_as_the_same_rotation(name):
    form = REPRESENTATIONS[name]
    written = form.from_wxyz(RANDOM)
    assert written.shape == (200, form.size)
    assert same_rotation(form.to_wxyz(written), RANDOM)
    assert form.from_wxyz(TILTED).shape == (form.size,)


def test_xyzw_is_the_same_numbers_with_w_last():
    xyzw = REPRESENTATIONS["quaternion_xyzw"].from_wxyz(TILTED)
    np.testing.assert_allclose(xyzw, [*TILTED[1:], TILTED[0]], atol=1e-15)


def test_products_matrices_and_turned_vectors_agree_with_mujoco():
    a, b = RANDOM[0], RANDOM[1]
    product, matrix, vector = np.zeros(4), np.zeros(9), np.zeros(3)
    mujoco.mju_mulQuat(product, a, b)
    mujoco.mju_quat2Mat(matrix, a)
    mujoco.mju_rotVecQuat(vector, AXIS, a)
    np.testing.assert_allclose(multiply(a, b), product, atol=1e-14)
    np.testing.assert_allclose(matrix_from_wxyz(a).ravel(), matrix, atol=1e-14)
    np.testing.assert_allclose(rotate(a, AXIS), vector, atol=1e-14)


def test_euler_angles_follow_mujocos_sequences():
    angles = np.array([0.3, -0.5, 0.9])
    for sequence, form in (("XYZ", "roll_pitch_yaw"), ("xyz", "euler_xyz")):
        expected = np.zeros(4)
        mujoco.mju_euler2Quat(expected, angles, sequence)
        assert same_rotation(REPRESENTATIONS[form].to_wxyz(angles), expected)
    assert rpy_from_wxyz(TILTED)[2] != pytest.approx(euler_xyz_from_wxyz(TILTED)[2])


@pytest.mark.parametrize("degrees", [0.0, 1e-9, 90.0, 179.9999, 180.0])
def test_axis_angle_and_matrix_hold_at_every_angle(degrees):
    quaternion = wxyz_from_axis_angle(np.deg2rad(degrees) * AXIS)
    angle = np.linalg.norm(axis_angle_from_wxyz(quaternion))
    assert np.rad2deg(angle) == pytest.approx(degrees, abs=1e-6)
    assert same_rotation(wxyz_from_matrix(matrix_from_wxyz(quaternion)), quaternion)


def test_a_blend_takes_the_shorter_way_and_meets_both_ends():
    quarter = wxyz_from_axis_angle(np.array([0.0, 0.0, np.pi / 2]))
    half_way = blend(TILTED, -multiply(TILTED, quarter), 0.5)
    assert same_rotation(
        multiply(inverse(TILTED), half_way), wxyz_from_axis_angle([0, 0, np.pi / 4])
    )
    assert same_rotation(blend(RANDOM[0], RANDOM[1], 1.0), RANDOM[1])


@pytest.mark.parametrize("bad", [[0, 0, 0, 0], [np.nan, 0, 0, 1], [np.inf, 0, 0, 1]])
def test_what_is_no_rotation_is_refused(bad):
    with pytest.raises(ValueError, match="no rotation"):
        unit(np.array(bad, float))


def test_parallel_columns_are_refused():
    with pytest.raises(ValueError, match="no rotation"):
        REPRESENTATIONS["rotation_6d"].to_wxyz(np.array([1.0, 0, 0, 2.0, 0, 0]))
