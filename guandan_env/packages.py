"""Are `agents`, `eval` and `train` ours? Other distributions install packages of these names.

The packages keep their plain names, so the clash is detected instead: ours lies beside
`guandan_env` and carries the line `__part_of__ = "guandan"` in its `__init__.py`. The source is
read, not imported: a stranger's package must not run to be recognised.
"""

from __future__ import annotations

import importlib.util
import re
from importlib.machinery import ModuleSpec
from importlib.metadata import packages_distributions
from pathlib import Path

from guandan_env.errors import GuandanError

LAYERS = ("agents", "eval", "train")
"""The packages above `guandan_env`; each imports only those before it."""

_HOME = Path(__file__).resolve().parent.parent
_MARK = re.compile(r'^__part_of__ = "guandan"$', re.MULTILINE)


class PackageClashError(GuandanError):
    """A package of ours is missing, or another distribution's stands in its place."""


def require_ours(package: str) -> None:
    """Make sure that importing `package`, one of `LAYERS`, gives ours, and those below it too.

    Raises:
        PackageClashError: one of them is missing or is another distribution's.
    """
    for name in LAYERS[: LAYERS.index(package) + 1]:
        _require(name)


def _require(name: str) -> None:
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise PackageClashError(
            f"the package {name!r} of guandan is not installed beside guandan_env in {_HOME}: "
            f"install guandan again"
        )
    if not _is_ours(spec):
        raise PackageClashError(
            f"the name {name!r} belongs to another package here: {_place(spec)}{_owner(name)} is "
            f"not guandan's, which belongs into {_HOME / name}. Install guandan into a virtual "
            f"environment of its own, or remove the other package and install guandan again"
        )


def _is_ours(spec: ModuleSpec) -> bool:
    if spec.origin is None or Path(spec.origin).resolve() != _HOME / spec.name / "__init__.py":
        return False
    return _MARK.search(Path(spec.origin).read_text(encoding="utf-8")) is not None


def _place(spec: ModuleSpec) -> str:
    return spec.origin or ", ".join(spec.submodule_search_locations or [])


def _owner(name: str) -> str:
    others = sorted(set(packages_distributions().get(name, [])) - {"guandan"})
    return f" (from {', '.join(others)})" if others else ""
