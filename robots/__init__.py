"""Embodiments: models, kinematics, cameras, drivers."""
