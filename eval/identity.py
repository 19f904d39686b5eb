"""Who exactly played: an agent's spec, its version, and a hash of the files it comes from."""

from __future__ import annotations

import hashlib
import inspect
import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agents import AgentError, Spec, make, parse
from agents.process_agent import close
from agents.registry import KINDS
from guandan_env.errors import one_line

_TEXT = {".py", ".json", ".yaml", ".yml", ".toml", ".txt", ".md"}  # checked out with any line ends
_CHUNK = 1 << 20


@dataclass(frozen=True, order=True)
class Identity:
    """An agent as results know it.

    version: what its attribute `version` says, else empty. files: SHA-256 over the files it comes
    from, else empty (agents of this package have none: their versions stand for their code).
    """

    spec: str
    version: str
    files: str

    def __str__(self) -> str:
        more = [part for part in (self.version, self.files[:8]) if part]
        return f"{self.spec} ({', '.join(more)})" if more else self.spec


def identify(spec: str) -> Identity:
    """The identity of the agent that a spec names; raises `AgentError` as `make` does.

    Files are those that the spec names (a target, an option, a word of a command; folders with
    all that is in them), the module of a class of the user's own, and what the agent lists in an
    attribute `files`. The hash is the same on every platform: paths count from the folder named,
    and line ends of text files do not count.
    """
    parsed = parse(spec)
    agent = make(parsed)
    try:
        found = list(_named(parsed))
        found += [Path(path) for path in getattr(agent, "files", ())]
        version = one_line(getattr(agent, "version", ""))
    finally:
        close(agent)
    return Identity(str(parsed), version, hash_files(found))


def hash_files(paths: Iterable[Path]) -> str:
    """SHA-256 over files, and over folders with all in them but caches; empty for no paths."""
    hashes = sorted({_hash_of(path) for path in paths})
    return hashlib.sha256("".join(hashes).encode()).hexdigest() if hashes else ""


def _named(spec: Spec) -> Iterator[Path]:
    for _, value in spec.options:
        yield from _existing(value)
    if spec.kind not in KINDS:
        module = sys.modules[spec.kind]  # `make` has imported it
        source = inspect.getsourcefile(module)
        if source is not None:
            yield Path(source)
        return
    if not KINDS[spec.kind].takes:
        return
    found = list(_existing(spec.target))
    if not found:
        # No path: the spec of another agent, or a command whose words may be paths.
        try:
            inner = parse(spec.target)
        except AgentError:
            inner = Spec("")
        if inner.kind in KINDS or inner.kind in sys.modules:
            found += _named(inner)
        found += [path for word in _words(spec.target) for path in _existing(word)]
    yield from found


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quotation mark that is not closed
        return []


def _existing(text: str) -> Iterator[Path]:
    """The path that a text is, if there is such a file or folder."""
    path = Path(text)
    try:
        if path.name and path.exists():
            yield path
    except (OSError, ValueError):  # a text that can be no path
        return


def _hash_of(path: Path) -> str:
    """A hash of a file's content, or of a folder's files with their paths in it."""
    try:
        if not path.is_dir():
            return _content(path)
        inside = {
            file.relative_to(path).as_posix(): file
            for file in path.rglob("*")
            if file.is_file() and "__pycache__" not in file.parts
        }
        lines = [f"{_content(file)}  {name}\n" for name, file in sorted(inside.items())]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    except OSError as error:
        raise AgentError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error


def _content(path: Path) -> str:
    if path.suffix in _TEXT:
        return hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            hashed.update(chunk)
    return hashed.hexdigest()
