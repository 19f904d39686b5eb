"""Draws a `Scene` as an image. Needs Pillow, which is imported at the first call only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from guandan_env.checks import whole_number
from guandan_env.scene import Scene, check_scene

MIN_SIZE, MAX_SIZE = 64, 4096


def render_image(scene: Scene, width: int = 960, height: int = 720) -> NDArray[np.uint8]:
    """The table as an image `(height, width, 3) uint8`, RGB; the same scene gives the same image.

    The table is drawn for 960 × 720 pixels and scaled to fit; what is left over is felt.

    Raises:
        StateError: What is given is no Scene.
        GuandanError: A width or height that is not from 64 to 4,096 pixels.
        ImportError: Pillow is not installed.
    """
    check_scene(scene)
    for name, size in (("width", width), ("height", height)):
        whole_number(size, f"{name} in pixels", MIN_SIZE, MAX_SIZE)
    try:
        from guandan_env.table_art import draw_table
    except ModuleNotFoundError as error:
        if error.name != "PIL":
            raise
        raise ImportError("drawing an image needs Pillow: pip install 'guandan[render]'") from error
    return np.asarray(draw_table(scene, width, height), dtype=np.uint8)
