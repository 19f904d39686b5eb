"""`guandan rules`: the presets, what distinguishes each, and where it comes from."""

from __future__ import annotations

import argparse
import json
import textwrap
from typing import Any

from guandan_env.conduct import Conduct
from guandan_env.options import yaml_module
from guandan_env.presets import PRESETS, require_preset
from guandan_env.rules import RuleSet

# What every preset is described against.
BASE = "standard"
WIDTH = 80


def main(argv: list[str]) -> int:
    """Print all presets, or one in full; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="guandan rules",
        allow_abbrev=False,
        description="List the presets with what distinguishes each, or show one in full.",
    )
    parser.add_argument("name", nargs="?", help="a preset; without one, all are listed")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--yaml", action="store_true", help="print YAML")
    form.add_argument("--markdown", action="store_true", help="print a Markdown table")
    args = parser.parse_args(argv)
    if args.name is not None:
        require_preset(args.name)
    names = list(PRESETS) if args.name is None else [args.name]
    described = [describe(name) for name in names]
    data = described if args.name is None else described[0]
    if args.json:
        print(json.dumps(data, indent=2, ensure_ascii=False))
    elif args.yaml:
        print(yaml_module().safe_dump(data, sort_keys=False, allow_unicode=True), end="")
    elif args.markdown:
        print(markdown(names))
    elif args.name is None:
        _print_list(names)
    else:
        _print_preset(args.name)
    return 0


def describe(name: str) -> dict[str, Any]:
    """Everything about a preset as plain data: texts, all options, and those that differ."""
    preset = PRESETS[name]
    return {
        "name": name,
        "title": preset.title,
        "source": preset.source,
        "notes": list(preset.notes),
        "rules": RuleSet.preset(name).to_dict(),
        "conduct": Conduct.preset(name).to_dict(),
        "differs_from": BASE,
        "differs": list(distinguishing(name)),
    }


def distinguishing(name: str) -> dict[str, tuple[Any, Any]]:
    """Return `{option: (value, value in standard)}` of the rules and the conduct of a preset."""
    return {
        **RuleSet.preset(name).differences(RuleSet.preset(BASE)),
        **Conduct.preset(name).differences(Conduct.preset(BASE)),
    }


def show(value: object) -> str:
    """Write one option's value as the tables show it: words bare, tuples with commas."""
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return str(value)


def markdown(names: list[str]) -> str:
    """Write the presets as a Markdown table of differences from `standard`."""
    lines = ["| preset | source | differs in |", "|---|---|---|"]
    for name in names:
        marks = ", ".join(f"`{key}={show(v)}`" for key, (v, _) in distinguishing(name).items())
        lines.append(f"| `{name}` | {PRESETS[name].source} | {marks or '–'} |")
    return "\n".join(lines)


def _print_list(names: list[str]) -> None:
    print(f"Presets of the rules, with what distinguishes each from {BASE} and its source.\n")
    indent = " " * (max(map(len, names)) + 2)
    for name in names:
        preset = PRESETS[name]
        differs = [f"{key}={show(value)}" for key, (value, _) in distinguishing(name).items()]
        print(f"{name:{len(indent)}}{preset.title}")
        for text in (", ".join(differs), f"source: {preset.source}"):
            if text:
                print(_filled(text, indent))
        print()
    print("'guandan rules NAME' shows one in full; docs/rules.md has the rules.")


def _print_preset(name: str) -> None:
    preset, differs = PRESETS[name], distinguishing(name)
    print(f"{name}: {preset.title}\n")
    for text in (f"Source: {preset.source}", *(f"Note: {note}" for note in preset.notes)):
        print(_filled(text, ""))
    print(f"\nWith * what differs from {BASE}; the numbers are clauses of docs/rules.md.")
    for options in (RuleSet.preset(name), Conduct.preset(name)):
        what = "rules of the game" if isinstance(options, RuleSet) else "conduct of matches"
        print(f"\n{what}:\n")
        for key, meaning in options.help_of().items():
            value, usual = getattr(options, key), differs.get(key, ("", ""))[1]
            mark, note = ("*", f"   ({BASE}: {show(usual)})") if key in differs else (" ", "")
            print(f"{mark} {key} = {show(value)}{note}\n      {meaning}")


def _filled(text: str, indent: str) -> str:
    """Text in lines of a terminal's usual width, cut at spaces only."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
