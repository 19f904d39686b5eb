"""Speed and memory that must not get lost.

Speeds are compared with the oracle's on the same deals in the same run, so that the bound holds
on any machine. `python -m pytest tests/test_speed_guard.py -s` prints what was measured.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from test_engine_against_oracle import ACTIONS, Oracle, dealer

from guandan_env import Engine, RuleSet, legality
from guandan_env.cards import RANKS
from guandan_env.commands.bench import random_rows

ROOT = Path(__file__).parents[1]
TABLES = 1024
ORACLES = 6  # tables that the oracle plays too
STEPS = 150
LEAST_RATIO = 180  # a third of what it is, see docs/speed.md
MOST_BYTES = 8 * 1024  # a table, masks and observations aside


def test_engine_is_many_times_as_fast_as_the_oracle():
    rules = RuleSet.preset("default")
    engine = Engine(TABLES, rules, seed=1, episode="game")
    levels, rows, seats = [], [], []
    begun = time.perf_counter()
    for _ in range(STEPS):
        packed = engine.packed_masks()
        legality.unpack(packed)
        chosen = random_rows(engine, packed)
        levels.append(engine.state.level[:ORACLES].copy())
        rows.append(chosen[:ORACLES])
        engine.step(chosen, packed_masks=packed)
        seats.append(engine.state.seat[:ORACLES].copy())
    fast = TABLES * STEPS / (time.perf_counter() - begun)

    oracles = [Oracle(rules, dealer(1, t, 0)) for t in range(ORACLES)]
    begun = time.perf_counter()
    for level, row, seat in zip(levels, rows, seats, strict=True):
        for t, oracle in enumerate(oracles):
            action = ACTIONS[RANKS[level[t]]][row[t]]
            assert action in oracle.legal()
            oracle.act(action)
            assert oracle.seat == seat[t]
    slow = ORACLES * STEPS / (time.perf_counter() - begun)
    print(f"engine {fast:,.0f}, oracle {slow:,.0f} decisions/s: {fast / slow:,.0f} times as fast")
    assert fast / slow > LEAST_RATIO


def test_memory_of_a_table():
    each = {tables: Engine(tables).state.nbytes / tables for tables in (1, 100)}
    print(f"{each[1]:,.0f} bytes a table")
    assert each[1] == each[100] < MOST_BYTES


def test_import_waits_for_nothing_heavy():
    code = (
        "import sys, guandan_env\n"
        "heavy = {'torch', 'pettingzoo', 'gymnasium', 'numpy', 'rich', 'agents', 'eval'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
        "from guandan_env import *\n"
        "heavy -= {'pettingzoo', 'gymnasium', 'numpy'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
    )
    out = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, encoding="utf-8")
    assert out == "[]\n[]\n"
