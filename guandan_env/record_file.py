"""Files of records: one JSON object a deal, one deal a line (JSON Lines, UTF-8)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NoReturn, Self

from guandan_env.aside import written_aside
from guandan_env.errors import shown
from guandan_env.record import FORMAT
from guandan_env.record_shape import RecordError, check_shape

LONGEST_LINE = 1_000_000  # bytes
_BEGINNING = b'{"format":"%s"' % FORMAT.encode()  # of every line that is written here
FilePath = str | os.PathLike[str]


def write_records(path: FilePath, records: Iterable[Mapping[str, Any]]) -> int:
    """Write a new file of records, all of them or none; returns how many.

    Raises `RecordError` if the file exists, if it cannot be written, or for a record that JSON
    cannot hold or that is longer than a line may be.
    """
    _refuse_existing(path)
    count = 0
    try:
        with written_aside(path) as file:
            for record in records:
                file.write(_line(record))
                count += 1
            _refuse_existing(path)
    except OSError as error:
        raise _os_error(path, error) from error
    return count


class RecordWriter:
    """Appends records to a file, each as a whole line at once, for runs that may be killed.

    A new file is begun, and one that exists refused; with `resume=True` one that exists is read
    and checked first, a last line that was torn off cut away, and `count` says how many records
    it holds. Raises `RecordError` for a file that holds anything else, and leaves it as it is.
    """

    def __init__(self, path: FilePath, *, resume: bool = False) -> None:
        self.path = Path(path)
        self.count = 0
        end = 0
        try:
            if resume and self.path.exists():
                self.count, end = _whole_lines(self.path)
                self._file: BinaryIO = open(self.path, "r+b")  # noqa: SIM115
                self._file.truncate(end)
                self._file.seek(end)
            else:
                self._file = open(self.path, "xb")  # noqa: SIM115
        except FileExistsError:
            _refuse_existing(self.path)
        except OSError as error:
            raise _os_error(self.path, error) from error

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one record."""
        try:
            self._file.write(_line(record))
            self._file.flush()
        except OSError as error:
            raise _os_error(self.path, error) from error
        self.count += 1

    def close(self) -> None:
        """Close the file; what was written is on disk."""
        if self._file.closed:
            return
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _os_error(self.path, error) from error
        finally:
            with suppress(OSError):  # it has been told above
                self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except RecordError:
            if error is None:  # else it is what was told already
                raise


def read_records(path: FilePath) -> Iterator[dict[str, Any]]:
    """The records of a file, each checked for its shape (not by the rules, see `verify_file`).

    Raises `RecordError` with the number of the first line that is none, or if the file cannot be
    read.
    """
    for line in _lines(path):
        yield _parse(line.text, line.number)


def read_record(path: FilePath, number: int) -> dict[str, Any]:
    """One record of a file, by its number from 1, checked for its shape; others are not looked at.

    Raises `RecordError` as `read_records` does, and if the file has fewer records.
    """
    count = 0
    for line in _lines(path):
        count = line.number
        if count == number:
            return _parse(line.text, number)
    raise RecordError(
        f"{os.fspath(path)!r} has no deal {number}; "
        + (f"1 to {count} are there" if count else "it is empty")
    )


class _Line:
    """A line: its number from 1, its bytes, and where in the file it ends."""

    def __init__(self, number: int, text: bytes, end: int) -> None:
        self.number, self.text, self.end = number, text, end

    @property
    def torn(self) -> bool:
        """Whether the file ends within this line."""
        return not self.text.endswith(b"\n")


def _lines(path: FilePath) -> Iterator[_Line]:
    end = number = 0
    try:
        with open(path, "rb") as file:
            while text := file.readline(LONGEST_LINE + 1):
                number += 1
                end += len(text)
                if len(text) > LONGEST_LINE:
                    raise RecordError(
                        f"the line is longer than {LONGEST_LINE:,} bytes", deal=number
                    )
                yield _Line(number, text, end)
    except OSError as error:
        raise _os_error(path, error) from error


def _parse(text: bytes, number: int) -> dict[str, Any]:
    try:
        record = json.loads(
            text.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_each_once
        )
    except (ValueError, RecursionError) as error:
        reason = str(error) or "nested too deeply"
        torn = "" if text.endswith(b"\n") else "; the file ends within this line"
        raise RecordError(f"the line is not JSON: {reason}{torn}", deal=number) from None
    try:
        return check_shape(record)
    except RecordError as error:
        raise RecordError(error.reason, deal=number, move=error.move) from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{shown(next(n for n in names if names.count(n) > 1))} is there twice")
    return made


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _whole_lines(path: Path) -> tuple[int, int]:
    """How many records a file holds, and where the last of them ends; all are checked."""
    count = end = 0
    for line in _lines(path):
        if not line.torn:
            _parse(line.text, line.number)
            count, end = line.number, line.end
        elif not (line.text.startswith(_BEGINNING) or _BEGINNING.startswith(line.text)):
            raise RecordError("the line is no part of a record", deal=line.number)
    return count, end


def _line(record: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"JSON cannot hold this record: {error}") from error
    line = text.encode("utf-8", "replace") + b"\n"
    if len(line) > LONGEST_LINE:
        raise RecordError(f"the record has {len(line):,} bytes; {LONGEST_LINE:,} are allowed")
    return line


def _refuse_existing(path: FilePath) -> None:
    if os.path.lexists(path):
        raise RecordError(f"{os.fspath(path)!r} exists; records are written to a new file only")


def _os_error(path: FilePath, error: OSError) -> RecordError:
    return RecordError(f"{os.fspath(path)!r}: {error.strerror or error}")
