"""How far apart colours look, also to a reader without one kind of cones."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgb

# What the eye makes of linear RGB: all cones, and deuteranopia and protanopia at severity 1
# (Machado, Oliveira and Fernandes 2009).
SIGHTS = {
    "trichromacy": np.identity(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}
# From linear RGB (sRGB primaries) to CIE XYZ, under D65.
_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
_EPSILON, _KAPPA = 216 / 24389, 24389 / 27


def lab(colour: str, sight: str = "trichromacy") -> np.ndarray:
    """Return CIE L*a*b* of a colour as it is seen."""
    encoded = np.array(to_rgb(colour))
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    seen = _TO_XYZ @ np.clip(SIGHTS[sight] @ linear, 0, 1) / (_TO_XYZ @ np.ones(3))
    x, y, z = np.where(seen > _EPSILON, np.cbrt(seen), (_KAPPA * seen + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def apart(one: str, other: str) -> float:
    """Return the distance of two colours (CIE76) to the reader who sees it smallest."""
    return min(float(np.linalg.norm(lab(one, sight) - lab(other, sight))) for sight in SIGHTS)
