"""Rules as a command line names them: a preset, or a file of one's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guandan_env.conduct import Conduct
from guandan_env.errors import RulesError, nearest, one_line, shown
from guandan_env.options import LONGEST_TEXT, yaml_module
from guandan_env.presets import PRESETS
from guandan_env.rules import RuleSet

SUFFIXES = (".yaml", ".yml", ".json")
HELP = "a preset (`guandan rules` lists them) or a YAML or JSON file of rules"


def load_rules(name: str) -> tuple[RuleSet, Conduct]:
    """The rules and the conduct of a preset by its name, or of a file by its path.

    A file holds options of `RuleSet`, as `RuleSet.to_yaml` writes them, or `rules` and `conduct`
    with the options of each, as `guandan rules NAME --yaml` prints them. What it leaves out has
    its default. Raises `RulesError`, with the name of the file, for anything that is not allowed.
    """
    if name in PRESETS:
        return RuleSet.preset(name), Conduct.preset(name)
    path = Path(name)
    if not (name.lower().endswith(SUFFIXES) or path.is_file()):
        raise RulesError(
            f"unknown rules {shown(name)}{nearest(name, PRESETS)}; allowed are the presets "
            f"{', '.join(PRESETS)}, or a file {', '.join('*' + suffix for suffix in SUFFIXES)}"
        )
    try:
        return _parse(_read(path), is_json=name.lower().endswith(".json"))
    except RulesError as error:
        raise RulesError(f"{name!r}: {error}") from error


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST_TEXT + 1)
    except OSError as error:
        raise RulesError(error.strerror or str(error)) from error
    if len(data) > LONGEST_TEXT:
        raise RulesError(f"a file of rules has at most {LONGEST_TEXT:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RulesError(f"this is no UTF-8 text: {error}") from error


def _parse(text: str, *, is_json: bool) -> tuple[RuleSet, Conduct]:
    data = _plain(text, is_json)
    if not isinstance(data, Mapping):
        raise RulesError(f"{shown(data)} is not allowed; allowed: options with their values")
    if not {"rules", "conduct"} & data.keys():
        return RuleSet.from_dict(data), Conduct()
    return RuleSet.from_dict(data.get("rules", {})), Conduct.from_dict(data.get("conduct", {}))


def _plain(text: str, is_json: bool) -> Any:
    form = "JSON" if is_json else "YAML"
    try:
        return json.loads(text) if is_json else yaml_module().safe_load(text)
    except RulesError:
        raise
    except Exception as error:  # whatever the two parsers raise, such as RecursionError
        raise RulesError(f"this is not {form}: {one_line(error)}") from error
