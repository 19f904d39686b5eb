"""The ids of Gymnasium and PettingZoo: `Guandan-v0` and `guandan_v0`.

They are registered when `guandan_env` is imported, whether before or after Gymnasium and
PettingZoo, and without importing either: `import guandan_env` alone stays quick. PettingZoo has a
registry from 1.27 on; older versions are left alone.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

GYMNASIUM_ID = "Guandan-v0"
PETTINGZOO_ID = "guandan_v0"


def single_seat(**parameters: Any) -> Any:
    """What `gymnasium.make` and `gymnasium.make_vec` call: `agents.single_seat`."""
    from guandan_env.packages import require_ours

    require_ours("agents")
    return importlib.import_module("agents").single_seat(**parameters)


def _register_in_gymnasium(gymnasium: Any) -> None:
    entry = f"{__name__}:{single_seat.__name__}"
    gymnasium.register(GYMNASIUM_ID, entry_point=entry, vector_entry_point=entry)


def _register_in_pettingzoo(pettingzoo: Any) -> None:
    if hasattr(pettingzoo, "register"):
        pettingzoo.register("aec", PETTINGZOO_ID, entry_point="guandan_env:env")


# What is still to be done once a module has been imported.
_WAITING: dict[str, Callable[[Any], None]] = {
    "gymnasium": _register_in_gymnasium,
    "pettingzoo": _register_in_pettingzoo,
}


def _register_in(module: ModuleType) -> None:
    """Do what waits for a module, once; some loaders serve others as well."""
    waiting = _WAITING.pop(module.__name__, None)
    if waiting is not None:
        waiting(module)


class _AfterImport:
    """Has what waits for a module done right after the module has been executed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders give, completed."""
        if name not in _WAITING:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                _register_in(module)

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def register() -> None:
    """Register the ids: now where a library has been imported, else as soon as it is."""
    for name in list(_WAITING):
        if name in sys.modules:
            _register_in(sys.modules[name])
    if _WAITING:
        sys.meta_path.insert(0, _AfterImport())
