"""Mechanisms: where integers from the data meet exact noise."""

from dxprivacy.mechanisms.laplace import laplace, noisy_rows, public_records
from dxprivacy.mechanisms.noise import Noise, SystemNoise

__all__ = ["Noise", "SystemNoise", "laplace", "noisy_rows", "public_records"]
