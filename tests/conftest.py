"""What tests must not leave behind for each other."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def printing():
    """NumPy's way to print, which pyyeti changes when it is imported."""
    with np.printoptions():
        yield
