"""The examples of docs/learners.md, and which library belongs into which environment."""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path
from typing import Any

import pytest

LEARNERS = (Path(__file__).parents[2] / "docs" / "learners.md").read_text(encoding="utf-8")
# What `make test-compat` makes; in these environments a library that is missing is a failure.
ENVIRONMENTS = {
    "compat": ("sb3_contrib", "tianshou", "torchrl"),
    "compat-rllib": ("ray",),
    "compat-agilerl": ("agilerl",),
}


def require(library: str) -> None:
    """Skip what needs a library that this environment is not made for."""
    if library in ENVIRONMENTS.get(os.environ.get("GUANDAN_COMPAT", ""), ()):
        importlib.import_module(library)
    pytest.importorskip(library)


def run_example(section: str, **replaced: str) -> dict[str, Any]:
    """Run the example of a section of docs/learners.md; returns the names that it leaves."""
    found = re.search(rf"^## {section}\n.*?```python\n(.*?)```", LEARNERS, re.S | re.M)
    assert found is not None, section
    code = found[1]
    for word, other in replaced.items():
        assert word in code
        code = code.replace(word, other)
    names: dict[str, Any] = {}
    exec(compile(code, f"learners.md, {section}", "exec"), names)
    return names
