"""The README.md of a data set: what it is, what stands in it, and how to read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from guandan_env.errors import one_line

_READ = """\
```python
from guandan_env.dataset import load_shards, unpack_mask

for shard in load_shards("FOLDER", "train"):
    observation, mask = shard["observation"], unpack_mask(shard["mask"])
    action, value = shard["action"], shard["return"]
```

Without this package: `numpy.load(file)` gives the arrays, and
`numpy.unpackbits(mask, axis=1, count=2244, bitorder="little")` the legal rows."""


def card(described: Mapping[str, Any]) -> str:
    """The card of a data set from its description."""
    d = described
    splits = [(name, f"{s['deals']:,}", f"{s['decisions']:,}") for name, s in d["splits"].items()]
    agents = [
        (_cell(name), f"{count:,}")
        for name, count in zip(d["agents"], d["agent_decisions"], strict=True)
    ]
    sections = (
        "# Decisions of Guandan (掼蛋)",
        f"{d['decisions']:,} decisions in {d['deals']:,} deals, each played to its end and verified"
        f" by the rules. Deals left out as they were not finished: {d['deals_left_out']:,}.",
        "## Splits",
        "By deal: deals with the same cards, such as both legs of a duplicate, are in one split. "
        "Inside a shard decisions stand in the order of deals and moves; shuffle them.",
        _table("split | deals | decisions", splits),
        "## Reading",
        _READ,
        "## Arrays of a shard",
        _arrays(d["arrays"]),
        "A decision with a single legal row was no choice: leave it out by its mask if you like.",
        "## Arrays of `deals.npz`",
        _arrays(d["deal_arrays"]),
        "## Who played",
        _table("agent | decisions", agents),
        "## Where it comes from",
        _table("file | deals", [(_cell(s["name"]), f"{s['deals']:,}") for s in d["sources"]]),
        f"Rules: {', '.join(_cell(rules['name']) for rules in d['rules'])} (all options: "
        f"`dataset.json`). Versions: guandan {d['guandan']}, {d['format']}, {d['observation']}, "
        f"{d['actions']}.",
    )
    return "\n\n".join(sections) + "\n"


def _arrays(columns: Iterable[Mapping[str, Any]]) -> str:
    lines = [
        (f"`{c['name']}`", f"`{c['dtype']}`", ", ".join(["n", *map(str, c["shape"])]), c["meaning"])
        for c in columns
    ]
    return _table("name | type | shape | meaning", lines)


def _table(head: str, lines: Iterable[tuple[str, ...]]) -> str:
    rule = " | ".join("---" for _ in head.split("|"))
    return "\n".join(
        f"| {line} |" for line in (head, rule, *(" | ".join(cells) for cells in lines))
    )


def _cell(text: object) -> str:
    """A name from a record as a cell of a table: as code, in which nothing has a meaning."""
    return "`" + one_line(text).replace("`", "'").replace("|", "¦") + "`"
