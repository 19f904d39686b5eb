"""Replays of a competition's matches: a page and a file of records for each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from eval.competition.play import unpack
from guandan_env.aside import written_aside
from guandan_env.errors import GuandanError
from guandan_env.replay_html import replay_page

FOLDER = "deals"


def replay_name(stage: int, number: int, match: int) -> str:
    """What the files of a match are called, without their ends; numbers count from 0."""
    return f"{FOLDER}/stage-{stage + 1}-round-{number + 1}-match-{match + 1}"


def write_replay(folder: Path, name: str, games: Sequence[bytes]) -> None:
    """Write the deals of a match as a page, and as records beside it (`guandan replay` reads).

    Raises `GuandanError` where they cannot be written.
    """
    records = [record for game in games for record in unpack(game)]
    try:
        (folder / FOLDER).mkdir(exist_ok=True)
        with written_aside(folder / f"{name}.jsonl") as file:
            for record in records:
                line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
                file.write(line.encode("utf-8", "replace") + b"\n")
        if records:
            with written_aside(folder / f"{name}.html") as file:
                file.write(replay_page(enumerate(records, 1)).encode("utf-8", "replace"))
    except OSError as error:
        raise GuandanError(f"{str(folder / name)!r}: {error.strerror or error}") from error
