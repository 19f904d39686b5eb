"""`guandan bench`: how fast the engine and the environments are on this machine.

What was measured where stands in docs/speed.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guandan_env import __version__, legality, randomness
from guandan_env.aec import env, raw_env
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.vector import GuandanVectorEnv, make_vec

BATCH_SIZES = (1, 16, 64, 256, 1024, 2048, 4096, 8192)
WARM_UP = 200  # steps before the clock starts, so that tables are spread over their deals
IMPORTS = {"import": "import guandan_env", "import-all": "from guandan_env import *"}
IMPORT_RUNS = 5


def random_rows(engine: Engine, packed: NDArray[np.uint64]) -> NDArray[np.int64]:
    """A uniform legal row for every table."""
    s = engine.state
    keys = randomness.key(engine.seed, s.table, s.deal, s.seat, s.length)
    return legality.select(packed, randomness.below(keys, legality.count(packed)))


def random_step(engine: Engine) -> None:
    """One step with uniform random legal rows at every table, an int8 mask produced as well."""
    packed = engine.packed_masks()
    legality.unpack(packed)
    over = engine.step(random_rows(engine, packed), packed_masks=packed).over
    if over.any():
        engine.start(np.flatnonzero(over))


def timed(step: Callable[[], None], num_tables: int, seconds: float) -> tuple[int, float]:
    """Steps of all tables and the seconds they took, over about `seconds` after a warm-up."""
    for _ in range(WARM_UP):
        step()
    steps, begun = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - begun) < seconds:
        step()
        steps += num_tables
    return steps, elapsed


def bench_engine(sizes: tuple[int, ...], seconds: float) -> Iterator[dict[str, Any]]:
    """Random legal play on the engine, masks included, for some batch sizes."""
    for size in sizes:
        engine = Engine(size, seed=1)
        steps, elapsed = timed(lambda engine=engine: random_step(engine), size, seconds)  # type: ignore[misc]
        yield row("engine", size, steps, elapsed, bytes_per_table=engine.state.nbytes // size)


def bench_observe(sizes: tuple[int, ...], seconds: float) -> Iterator[dict[str, Any]]:
    """The vector environment: the same, with the acting seat's observation at every step."""
    for size in sizes:
        vec = make_vec(size, episode="deal", seed=1, reuse=True)
        vec.reset()
        engine = vec.engine

        def step(vec: GuandanVectorEnv = vec, engine: Engine = engine) -> None:
            vec.step(random_rows(engine, engine.packed_masks()))

        yield row("observe", size, *timed(step, size, seconds))


def bench_aec(_sizes: tuple[int, ...], seconds: float) -> Iterator[dict[str, Any]]:
    """The PettingZoo environment, raw and through all its wrappers."""
    for name, make in (("aec-raw", raw_env), ("aec", env)):
        aec = make(episode="deal")
        aec.reset(seed=1)
        rng = np.random.default_rng(1)

        def step(aec: Any = aec, rng: np.random.Generator = rng) -> None:
            legal = np.flatnonzero(aec.last()[0]["action_mask"])
            aec.step(int(legal[rng.integers(len(legal))]))
            if aec.terminations[aec.agent_selection]:
                aec.reset()

        yield row(name, 1, *timed(step, 1, seconds))


def bench_import(_sizes: tuple[int, ...], _seconds: float) -> Iterator[dict[str, Any]]:
    """The package alone, and with all that it exports: the median of a few fresh interpreters."""
    for name, statement in IMPORTS.items():
        code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
        words = [sys.executable, "-c", code]
        seconds = [float(subprocess.check_output(words)) for _ in range(IMPORT_RUNS)]
        yield {
            "name": name,
            "statement": statement,
            "seconds": round(statistics.median(seconds), 4),
            "version": __version__,
        }


BENCHES: dict[str, Callable[[tuple[int, ...], float], Iterator[dict[str, Any]]]] = {
    "engine": bench_engine,
    "observe": bench_observe,
    "aec": bench_aec,
    "import": bench_import,
}


def row(name: str, num_tables: int, steps: int, seconds: float, **more: Any) -> dict[str, Any]:
    """One result as `--json` prints it."""
    return {
        "name": name,
        "num_tables": num_tables,
        "steps": steps,
        "seconds": round(seconds, 4),
        "steps_per_second": round(steps / seconds, 1),
        "version": __version__,
        **more,
    }


def line(result: dict[str, Any]) -> str:
    """One result as a person reads it; B is the batch size."""
    if "steps_per_second" not in result:
        return f"{result['statement']:<28} {result['seconds']:.3f} s"
    speed = f"{result['steps_per_second']:>9,.0f} steps/s"
    memory = f"{result['bytes_per_table']:>8,} bytes a table" if "bytes_per_table" in result else ""
    return f"{result['name']:<8} B = {result['num_tables']:<5}{speed}{memory}"


def main(argv: list[str]) -> int:
    """Run `guandan bench`."""
    parser = argparse.ArgumentParser(
        prog="guandan bench",
        description="Measure steps a second of random legal play. A step is one decision of one "
        "seat, forced ones included; a mask over all rows is made for every step. engine also says "
        "how much memory a table's state takes; import measures seconds of import.",
        allow_abbrev=False,
    )
    parser.add_argument("what", choices=list(BENCHES), help="what to measure")
    parser.add_argument(
        "--tables", type=int, nargs="+", default=list(BATCH_SIZES), help="batch sizes"
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each batch size")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    args = parser.parse_args(argv)
    if not args.seconds > 0:
        raise GuandanError(f"--seconds is {args.seconds}; a number above 0 is allowed")
    for result in BENCHES[args.what](tuple(args.tables), args.seconds):
        print(json.dumps(result) if args.json else line(result), flush=True)
    return 0
