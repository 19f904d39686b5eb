"""Fixed suites of deals: what numbers of different people and times are comparable on.

A suite never changes. A change of its deals would be a new suite, and CHANGELOG.md names them all.
Nobody should train or tune on a suite's deals: take other seeds for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eval.duplicate import Terms
from eval.starts import digest
from guandan_env.errors import GuandanError, nearest, shown
from guandan_env.rules import RuleSet


class SuiteError(GuandanError):
    """An unknown suite, or one whose deals are not what they were."""


@dataclass(frozen=True)
class Suite:
    """A number of deals, each to be played from both sides.

    rules: a preset. level: a character, or None for a random level each deal. sha256: of the
    deals, as `eval.starts.digest` makes it.
    """

    name: str
    seed: int
    count: int
    rules: str
    level: str | None
    sha256: str

    def terms(self, **more: Any) -> Terms:
        """The terms of a match on these deals; `more` is what a suite leaves open."""
        return Terms(rules=RuleSet.preset(self.rules), seed=self.seed, level=self.level, **more)

    def verify(self) -> None:
        """Deal all of them again; `SuiteError` if they are not the deals of the suite."""
        found = digest(self.terms(), self.count)
        if found != self.sha256:
            raise SuiteError(
                f"the deals of {self.name} have SHA-256 {found}, and {self.sha256} is right: "
                "this installation deals otherwise, and its numbers compare with no others"
            )


DEFAULT = "suite-v1"
SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        Suite(
            name="suite-v1",
            seed=7_312_026,
            count=5000,
            rules="default",
            level=None,
            sha256="cb6e3d8488809d5c3f66aa2e4165d2003859bbea660cb9992c4c324a21c6a0f7",
        ),
    )
}


def find_suite(name: str) -> Suite:
    """A suite by name, its deals verified; `SuiteError` for a name that is none."""
    if name not in SUITES:
        raise SuiteError(
            f"{shown(name)} is no suite{nearest(name, SUITES)}; allowed: {', '.join(SUITES)}"
        )
    SUITES[name].verify()
    return SUITES[name]
