"""What every test begins with."""

import sys
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def bots_of_one_test_only(tmp_path_factory):
    """Forget the modules that a test imported from its own folder: names of bots recur."""
    path = list(sys.path)
    yield
    sys.path[:] = path
    base = tmp_path_factory.getbasetemp()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and base in Path(file).parents:
            del sys.modules[name]
