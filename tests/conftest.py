"""What every test begins with."""

import sys
from contextlib import nullcontext
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


@pytest.fixture
def meta_device(monkeypatch: pytest.MonkeyPatch) -> str:
    """The device without numbers, which tells what lies elsewhere; it knows no half precision."""
    import torch

    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: False)
    monkeypatch.setattr(torch, "autocast", lambda *args, **options: nullcontext())
    return "meta"
