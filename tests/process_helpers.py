"""What the tests of programs in processes of their own have in common."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from multiprocessing import resource_tracker
from pathlib import Path

import pytest

NEEDS_POSIX = pytest.mark.skipif(os.name != "posix", reason="programs as players need POSIX")
LONG = 600.0  # seconds, far more than any answer takes
SHORT = 0.3  # for programs that never answer


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """No test leaves a child of ours behind, running or as a zombie."""
    resource_tracker.ensure_running()  # multiprocessing's own; it stays as long as we do
    before = children()
    yield
    assert children() <= before


def children() -> set[int]:
    """Numbers of our child processes, zombies too, as the kernel tells them (Linux)."""
    try:
        tasks = Path("/proc/self/task").iterdir()
        return {int(pid) for task in tasks for pid in (task / "children").read_text().split()}
    except OSError:
        pytest.skip("the kernel does not list children")


def is_gone(pid: int) -> bool:
    """Whether a process runs no more; who collects the child of another is not ours to say."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until_gone(pid: int) -> None:
    while not is_gone(pid):
        time.sleep(0.01)


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]
