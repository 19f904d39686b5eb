"""One table of a server: who sits there, and the games they play."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.answers import Cause, Wrong, ask
from agents.njupt import messages
from agents.njupt.actions import Action, Form, find_index
from agents.njupt.incoming import REQUEST_STAGES, WireError, parse_index, parse_request
from agents.njupt.messages import Message
from agents.process_agent import close, make_under
from eval.faults import in_place_of
from eval.serving.peer import Peer, as_text
from eval.serving.table import Table
from eval.serving.terms import Terms
from guandan_env.conduct import Conduct
from guandan_env.decisions import Decisions
from guandan_env.errors import GuandanError, one_line
from guandan_env.promotion import DRAW
from guandan_env.record_file import RecordWriter
from guandan_env.state import Phase

_TABLES_A_ROOM = 1 << 20
_MOST_UNREAD = 16  # answers of a peer that wait for their turn
_GONE, _BACK = "gone", "back"


@dataclass
class Seat:
    """A seat and who plays it: a peer (which may be away for a while), or our agent."""

    name: str = ""
    peer: Peer | None = None
    agent: bool = False
    gone_at: float = 0.0
    late: int = 0
    returns: int = 0
    events: asyncio.Queue[str | bytes] = field(default_factory=asyncio.Queue)


class Lost(Exception):
    """A peer is lost, and its side forfeits."""

    def __init__(self, seat: int, wrong: Wrong) -> None:
        super().__init__(wrong.text)
        self.seat, self.wrong = seat, wrong


class Room:
    """A table with four seats; `run` plays its games to the end.

    Parameters: `number`, of the room; `form`, whose messages it speaks; `games`, how many are
    played; `pool`, where agents think; `writer`, where records go, if anywhere.
    """

    def __init__(
        self,
        number: int,
        form: Form,
        games: int,
        terms: Terms,
        pool: Executor,
        writer: RecordWriter | None = None,
    ) -> None:
        self.number, self.form, self.games, self.terms = number, form, games, terms
        self.limits = terms.limits
        self._pool, self._writer = pool, writer
        self.seats = [Seat(agent=seat not in terms.open_seats) for seat in range(4)]
        self.watchers: set[Peer] = set()
        self.running = self.over = False
        self.full = asyncio.Event()
        self._conduct = Conduct(move_time=self.limits.move_time, illegal_play="pass")
        self._asked: tuple[int, Message] | None = None
        self._told: list[str] = []  # what everybody was told of this deal
        self.wins, self.draws = [0, 0], 0

    # ------------------------------------------------------------------ coming and going

    def free_seats(self) -> list[int]:
        """Seats that a peer may take, while the games have not begun."""
        if self.running:
            return []
        return [i for i, s in enumerate(self.seats) if not s.agent and s.peer is None]

    def sit(self, index: int, peer: Peer, name: str) -> None:
        """A peer takes a free seat."""
        self.seats[index] = Seat(name=name, peer=peer)
        if not self.free_seats():
            self.full.set()

    def away(self, name: str) -> int | None:
        """The seat to which a peer of this name may come back."""
        now = asyncio.get_running_loop().time()
        for index, seat in enumerate(self.seats):
            if (
                self.running
                and not self.over
                and (seat.name, seat.peer, seat.agent) == (name, None, False)
                and now - seat.gone_at <= self.limits.return_within
                and seat.returns < self.limits.returns
            ):
                return index
        return None

    def come_back(self, index: int, peer: Peer) -> None:
        """A peer is back at its seat, and told what it missed."""
        seat = self.seats[index]
        seat.peer = peer
        seat.returns += 1
        seat.events.put_nowait(_BACK)
        peer.send(messages.beginning(self._table.dealt[index], index))
        for text in self._told[1:]:  # the first is the beginning as spectators see it
            peer.send(text)
        if self._asked is not None and self._asked[0] == index:
            peer.ask(self._asked[1])

    def leave(self, index: int, peer: Peer) -> None:
        """A peer's connection has ended."""
        seat = self.seats[index]
        if seat.peer is not peer:
            return
        seat.peer = None
        seat.gone_at = asyncio.get_running_loop().time()
        seat.events.put_nowait(_GONE)

    def watch(self, peer: Peer) -> bool:
        """A spectator comes, if there is place for one."""
        if len(self.watchers) >= self.limits.watchers:
            return False
        self.watchers.add(peer)
        for text in self._told:
            peer.send(text)
        return True

    def heard(self, index: int, peer: Peer, data: str | bytes) -> None:
        """A peer says something; what one that has lost its seat says does not count."""
        seat = self.seats[index]
        if seat.peer is not peer:
            return
        if self._asked is None or self._asked[0] != index:
            self._refuse(index, "it is not your turn")
        elif seat.events.qsize() < _MOST_UNREAD:
            # An empty text could not be told from events; nothing that is allowed is empty.
            seat.events.put_nowait(data if data not in (_GONE, _BACK) else "?")

    def _refuse(self, index: int, text: str) -> None:
        peer = self.seats[index].peer
        if peer is not None:
            peer.refuse(text, "error" if self.form is Form.OLD else "PLAY")

    # ------------------------------------------------------------------ playing

    async def run(self) -> None:
        """Wait for peers, then play all games; what goes wrong ends this room only."""
        try:
            # Loading a network takes a while, in which others play on.
            loop = asyncio.get_running_loop()
            fill = self.terms.fill
            self._agent = await loop.run_in_executor(self._pool, make_under, fill, self._conduct)
            try:
                await self._wait_for_peers()
                if any(seat.peer for seat in self.seats):
                    self.running = True
                    for seat in self.seats:
                        seat.agent |= seat.peer is None
                    await self._play()
            finally:
                close(self._agent)
        except Exception as error:  # such as a full disk; the other rooms play on
            print(f"room {self.number} has ended: {one_line(error)}", file=sys.stderr)
        finally:
            self.over = True
            peers = [seat.peer for seat in self.seats if seat.peer is not None]
            await asyncio.gather(
                *(peer.close() for peer in (*peers, *self.watchers)), return_exceptions=True
            )

    async def _wait_for_peers(self) -> None:
        try:
            async with asyncio.timeout(self.limits.wait):
                await self.full.wait()
        except TimeoutError:
            return

    async def _play(self) -> None:
        self._agent.reset()
        for game in range(self.games):
            await self._play_game(game)
            self._tell(messages.game_over(game + 1, self.games))
            if not self.watchers and all(seat.agent for seat in self.seats):
                break  # nobody is left to play for
        levels = self._table.levels
        self._tell(messages.game_result(self.form, self.wins, self.draws, levels))

    async def _play_game(self, game: int) -> None:
        self._table = table = Table(self.terms, self.form, self.number * _TABLES_A_ROOM + game)
        self._begin_deal()
        while not table.over:
            try:
                await self._move()
            except Lost as lost:
                self._record(lost)
                self.wins[1 - lost.seat % 2] += 1
                return
        if table.winner == DRAW:
            self.draws += 1
        else:
            self.wins[table.winner] += 1

    async def _move(self) -> None:
        decisions = self._table.decisions()
        seat = int(decisions.seat[0])
        cards: NDArray[np.uint8] | None
        if self.seats[seat].agent:
            row, cards = await self._ask_agent(decisions)
        else:
            action = await self._ask_peer(seat, decisions)
            row, cards = action.row, action.counts()
        told, deal_over = self._table.move(row, cards)
        for message in told:
            self._tell(message)
        if deal_over:
            self._record()
            if not self._table.over:
                self._table.next_deal()
                self._begin_deal()
        await asyncio.sleep(0)  # agents alone would let nobody else in

    # ------------------------------------------------------------------ asking

    async def _ask_agent(self, decisions: Decisions) -> tuple[int, NDArray[np.uint8] | None]:
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._pool, ask, self._agent, decisions)
        if answer.wrong:
            print(f"room {self.number}: agent failed: {answer.wrong[0].text}", file=sys.stderr)
            return int(in_place_of(decisions)[0]), None
        return int(answer.rows[0]), answer.cards[0]

    async def _ask_peer(self, index: int, decisions: Decisions) -> Action:
        """What a peer plays, or what stands for it: RULES 7.3, or our agent where it is lost."""
        seat = self.seats[index]
        while not seat.events.empty():  # what happened before it was asked
            seat.events.get_nowait()
        message, actions = self._table.question(decisions)
        self._asked = (index, message)
        try:
            if seat.peer is not None:
                seat.peer.ask(message)
            return await self._answer(index, message, actions)
        except _Silent as silent:
            return await self._instead(index, decisions, actions, silent)
        finally:
            self._asked = None

    async def _answer(self, index: int, message: Message, actions: list[Action]) -> Action:
        """A peer's answer; the clock runs while it is connected, and does not begin anew."""
        seat, loop = self.seats[index], asyncio.get_running_loop()
        clock, wrong = self.limits.move_time, 0
        connected = seat.peer is not None
        while True:
            begun = loop.time()
            left = clock if connected else seat.gone_at + self.limits.return_within - begun
            try:
                async with asyncio.timeout(max(left, 0)):
                    event = await seat.events.get()
            except TimeoutError:
                raise _Silent(Cause.LATE if connected else Cause.ABSENT) from None
            if connected:
                clock -= loop.time() - begun
            if event in (_GONE, _BACK):
                connected = event == _BACK
                if event == _GONE and seat.returns >= self.limits.returns:
                    raise _Silent(Cause.ABSENT)
                continue
            try:
                return self._read(event, str(message["stage"]), actions)
            except GuandanError as error:
                wrong += 1
                if wrong >= self.limits.wrong_answers:
                    raise _Silent(Cause.ILLEGAL) from None
                self._refuse(index, str(error))
                if self.form is Form.OLD and seat.peer is not None:
                    seat.peer.ask(message)

    def _read(self, data: str | bytes, stage: str, actions: list[Action]) -> Action:
        if self.form is Form.OLD:
            index: int | None = parse_index(data)
            if index is None or index >= len(actions):
                raise WireError(f"actIndex is {index}; 0 to {len(actions) - 1} are allowed")
            return actions[index]
        request = parse_request(data)
        if REQUEST_STAGES.get(type(request)) != stage:
            raise WireError(f"this is no answer in the stage {stage}")
        index = find_index(request.data.act, actions, self.form)  # type: ignore[union-attr]
        if index is None:
            raise WireError("act is none of actionList")
        return actions[index]

    async def _instead(
        self, index: int, decisions: Decisions, actions: list[Action], silent: _Silent
    ) -> Action:
        seat = self.seats[index]
        seat.late += 1
        if silent.cause is not Cause.ABSENT and seat.late < self.limits.late_moves:
            self._refuse(index, "no answer in time: something was played for you")
        elif self.terms.late == "forfeit":
            raise Lost(index, Wrong(silent.cause, f"the player at seat {index} is lost"))
        else:
            self._replace(index)
            row, cards = await self._ask_agent(decisions)
            return self._listed(row, cards, decisions, actions)
        return self._listed(int(in_place_of(decisions)[0]), None, decisions, actions)

    def _replace(self, index: int) -> None:
        """Our agent takes a seat for good."""
        self._refuse(index, "the seat is lost: an agent plays on")
        peer, self.seats[index].peer = self.seats[index].peer, None
        self.seats[index].agent = True
        if peer is not None:
            peer.dismiss()

    def _listed(
        self, row: int, cards: NDArray[np.uint8] | None, d: Decisions, actions: list[Action]
    ) -> Action:
        """The action of the list that a row, with or without cards, is."""
        given = cards is not None and cards.any() and d.phase[0] == Phase.PLAY
        same = [a for a in actions if a.row == row]
        if given:
            same = [a for a in same if (a.counts() == cards).all()]
        return same[0]

    # ------------------------------------------------------------------ telling

    def _tell(self, message: Message) -> None:
        text = as_text(message)
        self._told.append(text)
        for peer in (*(seat.peer for seat in self.seats), *self.watchers):
            if peer is not None:
                peer.send(text)

    def _begin_deal(self) -> None:
        begun = as_text(messages.beginning(None, None))
        self._told = [begun]
        for watcher in self.watchers:
            watcher.send(begun)
        for index, seat in enumerate(self.seats):
            if seat.peer is not None:
                seat.peer.send(messages.beginning(self._table.dealt[index], index))
        for message in self._table.opening:
            self._tell(message)

    def _record(self, lost: Lost | None = None) -> None:
        if self._writer is None:
            return
        fault: dict[str, Any] | None = None
        if lost is not None:
            cause = lost.wrong.cause.value
            fault = {"seat": lost.seat, "text": lost.wrong.text, "cause": cause}
        players = [self.terms.fill if seat.agent else seat.name for seat in self.seats]
        context = {"room": self.number, "form": self.form.value}
        self._writer.write(self._table.record(players, context=context, fault=fault))


class _Silent(Exception):
    """A peer gave no answer that counts."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(cause.value)
        self.cause = cause
