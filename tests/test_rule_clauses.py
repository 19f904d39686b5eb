"""Every clause of docs/rules.md has a test that names it, or stands in a list that only shrinks.

Run as a script it takes the clauses that have got a test off the list.
"""

from __future__ import annotations

import ast
import itertools
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
DOCUMENT = TESTS.parent / "docs" / "rules.md"
WITHOUT_TEST = TESTS / "data" / "clauses_without_test.txt"


def clauses() -> list[str]:
    """The numbers of all clauses, in the document's order."""
    text = DOCUMENT.read_text(encoding="utf-8")
    return re.findall(r"^\*\*(\d+\.\d+)\*\* ", text, re.MULTILINE)


def marked_in(source: str) -> list[str]:
    """The clauses named by `pytest.mark.rule(...)` in a test's source, as text each."""
    return [
        argument.value if isinstance(argument, ast.Constant) else ast.unparse(argument)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr == "rule" and ast.unparse(node.func.value).endswith("mark")
        for argument in node.args
    ]


@cache
def marked() -> dict[str, list[str]]:
    """Each clause that a test names, with the files that do."""
    files: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        for clause in marked_in(path.read_text(encoding="utf-8")):
            files.setdefault(clause, []).append(path.relative_to(TESTS).as_posix())
    return files


def listed() -> list[str]:
    """The clauses that are allowed to have no test; a line may say why after a `#`."""
    lines = WITHOUT_TEST.read_text(encoding="utf-8").splitlines()
    return [clause for line in lines for clause in line.partition("#")[0].split()]


def still_without() -> str:
    """The list as it should be: without the clauses that have got a test."""
    lines = WITHOUT_TEST.read_text(encoding="utf-8").splitlines()
    kept = []
    for line in lines:
        clauses_of_line, mark, reason = line.partition("#")
        left = [clause for clause in clauses_of_line.split() if clause not in marked()]
        if left or not clauses_of_line.strip():
            kept.append(" ".join(left) + ("  " if left and mark else "") + mark + reason.rstrip())
    return "".join(f"{line}\n" for line in kept)


def test_clauses_are_numbered_without_gaps() -> None:
    numbers = [tuple(map(int, clause.split("."))) for clause in clauses()]
    assert numbers[0] == (1, 1)
    for (section, clause), after in itertools.pairwise(numbers):
        assert after in ((section, clause + 1), (section + 1, 1))


def test_markers_name_clauses_that_exist() -> None:
    known = set(clauses())
    assert {c: files for c, files in marked().items() if c not in known} == {}


def test_every_clause_has_a_test_or_is_listed() -> None:
    without = [c for c in clauses() if c not in marked() and c not in listed()]
    assert without == [], "these clauses have lost their last test, or are new and have none"


def test_the_list_only_shrinks() -> None:
    assert [c for c in listed() if c not in clauses()] == [], "no such clauses: remove them"
    assert [c for c in listed() if c in marked()] == [], (
        f"these have tests: `python tests/{Path(__file__).name}` cuts them from {WITHOUT_TEST}"
    )
    assert len(listed()) == len(set(listed()))


def test_markers_are_found_in_source() -> None:
    source = '@pytest.mark.rule("6.3", "6.4")\n@pytest.mark.slow\ndef test_x():\n    pass\n'
    source += 'pytestmark = [pytest.mark.rule("1.1")]\n'
    assert sorted(marked_in(source)) == ["1.1", "6.3", "6.4"]


if __name__ == "__main__":
    WITHOUT_TEST.write_text(still_without(), encoding="utf-8")
