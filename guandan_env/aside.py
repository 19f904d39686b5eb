"""Writing a file or a folder as a whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written_aside(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write that becomes `path` when all went well, and is removed when not.

    It is written beside `path` and renamed, so that nobody ever sees half of it. Raises `OSError`
    as `open` does.
    """
    target = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())  # mkstemp's files are for their owner only
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def folder_aside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder to fill that becomes `path` when all went well, and is removed when not.

    Raises `OSError`, as `os.rename` does, if `path` exists and is not an empty folder.
    """
    target = Path(path)
    made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield made
        os.chmod(made, 0o777 & ~_umask())  # mkdtemp's folders are for their owner only
        os.rename(made, target)
    except BaseException:
        shutil.rmtree(made)
        raise
