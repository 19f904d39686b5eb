"""`guandan rules`: the presets, what distinguishes each, and where it comes from."""

from __future__ import annotations

import argparse
import json
from typing import Any

from guandan_env.conduct import Conduct
from guandan_env.options import yaml_module
from guandan_env.presets import PRESETS, require_preset
from guandan_env.rules import RuleSet

# What every preset is described against.
BASE = "standard"


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
    from rich.console import Console
    from rich.table import Column, Table

    table = Table(
        Column("preset", no_wrap=True),
        f"what distinguishes it from {BASE}",
        "source",
        title="Presets of the rules",
        caption="guandan rules NAME shows one in full",
        show_lines=True,
    )
    for name in names:
        lines = [PRESETS[name].title]
        lines += [f"  {key} = {show(value)}" for key, (value, _) in distinguishing(name).items()]
        table.add_row(name, "\n".join(lines), PRESETS[name].source)
    Console().print(table)


def _print_preset(name: str) -> None:
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    preset, differs = PRESETS[name], distinguishing(name)
    table = Table(
        "",
        Column("option", no_wrap=True),
        Column("value", overflow="fold"),
        Column(BASE, overflow="fold"),
        "meaning (clauses: docs/rules.md)",
        title=f"{name}: {preset.title}",
        caption=f"* differs from {BASE}",
    )
    for options in (RuleSet.preset(name), Conduct.preset(name)):
        base = type(options).preset(BASE)
        for key, meaning in options.help_of().items():
            mark, style = ("*", "bold") if key in differs else ("", "")
            value, usual = show(getattr(options, key)), show(getattr(base, key))
            table.add_row(mark, key, value, usual, meaning, style=style)
        table.add_section()
    console = Console()
    console.print(table)
    console.print(Text(f"Source: {preset.source}"))
    for note in preset.notes:
        console.print(Text(f"Note: {note}"))
