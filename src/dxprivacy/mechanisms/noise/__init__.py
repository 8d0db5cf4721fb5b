"""Noise: the one room that draws entropy."""

from dxprivacy.mechanisms.noise.system import Noise, SystemNoise

__all__ = ["Noise", "SystemNoise"]
