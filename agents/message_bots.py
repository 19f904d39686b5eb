"""`njupt:FOLDER` and `exec:COMMAND`: bots that speak the NJUPT platform's messages, as agents.

Each seat at each table has an instance of its own, in a process of its own, which hears what the
platform would tell it and is asked as the platform would ask (docs/ecosystem.md).
"""

from __future__ import annotations

import json
import shlex
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agents.answers import Answer, Cause, PartialAnswerError, Wrong
from agents.njupt.actions import Action, Form, find_index
from agents.njupt.incoming import WireError, parse_said
from agents.njupt.messages import Message
from agents.njupt.seat_talk import SeatTalk
from agents.process import LineProcess, ProcessFault
from agents.process_agent import START_TIME, Keeper, first_leads
from agents.registry import AgentError
from guandan_env.actions import RESIST
from guandan_env.cards import NUM_KINDS, Counts
from guandan_env.checks import check_choice, check_flag, whole_number
from guandan_env.conduct import Conduct
from guandan_env.decisions import Decisions
from guandan_env.errors import GuandanError, one_line
from guandan_env.state import Phase
from guandan_env.text import describe, parse_play

MOVE_TIME = 10.0  # seconds for a decision, where neither the spec nor the conduct sets a time
TABLES = 4
_MOST_LINE = 1 << 16  # bytes of an answer
_BOT_MAIN = Path(__file__).parent / "njupt" / "bot_main.py"


@dataclass
class _Seat:
    """An instance of the bot, and what it has been told."""

    keeper: Keeper[LineProcess]
    talk: SeatTalk


class MessageBot:
    """A program that is told and asked in lines of JSON, one instance for each seat of a table.

    Parameters: `name`, its spec. `start`, which begins the program and returns it when it is
    ready. `time`, seconds for a decision where the conduct sets none. `tables`, how many tables it
    should be asked about at a time: there are at most four programs for each, and seats beyond
    that take turns. `form`, whose messages, `old` or `open`. `text`, whether questions carry the
    position in plain words too. `at_once`, whether the program is ready as soon as it is started;
    else its first answer has the time to start as well.
    """

    def __init__(
        self,
        name: str,
        start: Callable[[], LineProcess],
        *,
        time: float,
        tables: int,
        form: str,
        text: bool,
        at_once: bool,
    ) -> None:
        if isinstance(time, bool) or not isinstance(time, (int, float)) or not 0 < time < 1e6:
            raise AgentError(f"agent {name!r}: time is {time!r}; seconds above 0 are allowed")
        self.name = name
        self.most_tables = whole_number(tables, "tables", 1, 1000, AgentError)
        self._form = Form(check_choice(form, "form", [f.value for f in Form]))
        self._text = check_flag(text, "text")
        self._start, self._at_once = start, at_once
        self._usual = float(time)
        self._conduct = Conduct()
        self._seats: OrderedDict[tuple[int, int], _Seat] = OrderedDict()

    def keep_time(self, conduct: Conduct) -> None:
        """Hold the programs to the times of a conduct."""
        self._conduct = conduct

    def reset(self) -> None:
        """A new match: all programs end, new ones begin when they are needed."""
        for seat in self._seats.values():
            seat.keeper.drop()
        self._seats.clear()

    close = reset

    def act(self, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Rows and cards; `PartialAnswerError` with what failed and why."""
        n = len(decisions)
        whole = Answer(np.zeros(n, dtype=np.int64), np.zeros((n, NUM_KINDS), dtype=np.uint8))
        first = first_leads(decisions)
        most = 4 * self.most_tables
        for start in range(0, n, most):
            self._answer(decisions, range(start, min(start + most, n)), first, whole)
        if whole.wrong:
            raise PartialAnswerError(whole.rows, whole.cards, whole.wrong)
        return whole.rows, whole.cards

    # ------------------------------------------------------------------ asking

    def _answer(
        self, decisions: Decisions, chosen: range, first: NDArray[np.bool_], whole: Answer
    ) -> None:
        """Ask about some decisions, all of them before the first answer is waited for."""
        seats = [self._seat(decisions, i) for i in chosen]
        self._make_room()
        waiting = []
        for seat, i in zip(seats, chosen, strict=True):
            if decisions.phase[i] in (Phase.RESIST, Phase.CHOOSE):
                whole.rows[i] = _not_asked(decisions, i)
                continue
            fresh = not seat.keeper.running
            try:
                waiting.append((seat, i, fresh, self._put(seat, decisions, i)))
            except ProcessFault as fault:
                seat.keeper.drop()
                whole.wrong[i] = fault.wrong
        for seat, i, fresh, actions in waiting:
            try:
                line = seat.keeper.program.receive(self._limit(bool(first[i]), fresh))
                whole.rows[i], cards = self._read(line, decisions, i, actions)
            except ProcessFault as fault:
                seat.keeper.drop()
                whole.wrong[i] = fault.wrong
            except WireError as error:
                # After a line that is no answer nobody knows which line answers what.
                seat.keeper.drop()
                whole.wrong[i] = Wrong(Cause.ERROR, f"it answered with garbage: {one_line(error)}")
            except GuandanError as error:
                whole.wrong[i] = Wrong(Cause.ILLEGAL, one_line(error))
            except BaseException:  # such as Ctrl-C: an answer that nobody waits for would be left
                for other, *_ in waiting:
                    other.keeper.drop()
                raise
            else:
                if cards is not None:
                    whole.cards[i] = cards

    def _seat(self, decisions: Decisions, i: int) -> _Seat:
        """The instance that is asked, which is now the one asked last."""
        where = int(decisions.index[i]), int(decisions.seat[i])
        if where not in self._seats:
            self._seats[where] = _Seat(Keeper(self._start), SeatTalk(self._form))
        self._seats.move_to_end(where)
        return self._seats[where]

    def _make_room(self) -> None:
        """End the programs that were not asked for longest, if there are too many."""
        running = [seat for seat in self._seats.values() if seat.keeper.running]
        chosen = list(self._seats.values())[-4 * self.most_tables :]
        kept = {id(seat) for seat in chosen}
        for seat in running:
            if id(seat) not in kept:
                seat.keeper.drop()
                seat.keeper = Keeper(self._start)  # it has not failed: nothing is counted

    def _put(self, seat: _Seat, decisions: Decisions, i: int) -> list[Action]:
        """Tell a program what is new and ask it; returns the actions that it may answer."""
        new = seat.talk.hear(decisions, i)
        message, actions = seat.talk.question(decisions, i)
        if self._text:
            message["text"] = describe(decisions, i)
        fresh = not seat.keeper.running
        program = seat.keeper.program
        for told in seat.talk.told if fresh else new:
            program.send(_line(told))
        program.send(_line(message))
        return actions

    def _limit(self, first_lead: bool, fresh: bool) -> float:
        """Seconds for an answer."""
        conduct = self._conduct
        usual = self._usual if conduct.move_time is None else conduct.move_time
        limit = conduct.first_lead_time if first_lead else None
        start = self._start_time if fresh and not self._at_once else 0.0
        return (usual if limit is None else limit) + start

    @property
    def _start_time(self) -> float:
        return START_TIME if self._conduct.start_time is None else self._conduct.start_time

    def _read(
        self, line: str, decisions: Decisions, i: int, actions: list[Action]
    ) -> tuple[int, Counts | None]:
        """The row and the cards of an answer."""
        said = parse_said(line)
        if said.text is not None:
            return parse_play(said.text, decisions, i)
        wire = said.act if said.data is None else said.data.act
        if said.actIndex is not None:
            index: int | None = said.actIndex
        elif wire is not None:
            index = find_index(wire, actions, self._form)
        else:
            raise WireError(f"{one_line(line)} is no answer: 'actIndex' or 'act' is wanted")
        if index is None or index >= len(actions):
            raise AgentError(
                f"it answered {one_line(line)}, which is none of the {len(actions)} actions"
            )
        action = actions[index]
        play = decisions.phase[i] == Phase.PLAY and bool(action.cards)
        return action.row, action.counts() if play else None


def _line(message: Message) -> str:
    return json.dumps(message, separators=(",", ":"))


def _not_asked(decisions: Decisions, i: int) -> int:
    """The answer to what the platform does not ask: it resists; of two equal tributes the first."""
    legal = np.flatnonzero(decisions.mask[i])
    return RESIST if decisions.phase[i] == Phase.RESIST else int(legal[0])


class Njupt(MessageBot):
    """A Python bot in a folder, from message to index (docs/ecosystem.md).

    Parameters: `folder`; `entry`, where the bot is in it, `module:Name` or `module`; the others
    are those of `MessageBot`. Raises `AgentError` where there is no such folder or module.
    """

    def __init__(
        self,
        folder: str,
        entry: str = "bot",
        time: float = MOVE_TIME,
        tables: int = TABLES,
        form: str = "old",
        text: bool = False,
    ) -> None:
        path = Path(folder).resolve()
        module = str(entry).partition(":")[0].replace(".", "/")
        if not path.is_dir():
            raise AgentError(f"agent 'njupt:{folder}': there is no folder {str(path)!r}")
        if not (path / f"{module}.py").is_file() and not (path / module).is_dir():
            raise AgentError(
                f"agent 'njupt:{folder}': there is no {module}.py in {str(path)!r}; the option "
                "entry=module:Name says where the bot is"
            )
        command = [sys.executable, str(_BOT_MAIN), str(path), str(entry)]

        def start() -> LineProcess:
            program = LineProcess(command, cwd=path, most=_MOST_LINE)
            said = program.receive(self._start_time)
            if said != '{"ready": true}':
                raise program.process.fault(Cause.ABSENT, f"it said {one_line(said)} at first")
            return program

        super().__init__(
            f"njupt:{folder}",
            start,
            time=time,
            tables=tables,
            form=form,
            text=text,
            at_once=True,
        )


class Exec(MessageBot):
    """Any program that reads and writes one JSON message a line.

    Parameters: `command`, its words as in a shell, which is not used; the others are those of
    `MessageBot`. Raises `AgentError` for a command that is none.
    """

    def __init__(
        self,
        command: str,
        time: float = MOVE_TIME,
        tables: int = TABLES,
        form: str = "old",
        text: bool = False,
    ) -> None:
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise AgentError(f"agent 'exec:{command}': {error}") from error
        if not words:
            raise AgentError(f"agent 'exec:{command}': there is no command")
        super().__init__(
            f"exec:{command}",
            lambda: LineProcess(words, most=_MOST_LINE),
            time=time,
            tables=tables,
            form=form,
            text=text,
            at_once=False,
        )
