"""`guandan play`: a person at seat 0, at the terminal, against bots."""

from __future__ import annotations

import argparse
import io
import os
import secrets
import sys
import textwrap
from itertools import groupby
from pathlib import Path
from typing import TextIO

import numpy as np

from agents import describe as describe_agents
from agents import make
from agents.answers import require
from eval.human_input import Move, Situation, describe, list_hints, parse_move
from guandan_env.actions import PASS, RESIST, ROW_PATTERN, Pattern
from guandan_env.cards import HAND_SIZE, RANKS, Counts, card_names, to_bits, to_counts
from guandan_env.conduct import Conduct
from guandan_env.decisions import Agent, Decisions
from guandan_env.engine import Engine, StepResult
from guandan_env.errors import GuandanError
from guandan_env.notation import row_name
from guandan_env.record import DealStarts, deal_record
from guandan_env.record_file import RecordWriter
from guandan_env.render_text import WIDTH, render_text
from guandan_env.rules import RuleSet
from guandan_env.scene import PLACE_NAMES
from guandan_env.scene_of import is_revealed, scene_of, tribute_lines
from guandan_env.state import Phase
from guandan_env.suits import choose_cards

PERSON, PARTNER = 0, 2
_TABLE = np.array([0])  # the one table there is
ADVISER = "greedy"
_HELP = "cards (S5 H5), a name (pair 55), a hint's number, pass, ? for hints, quit"
_QUESTIONS = {
    Phase.RESIST: "You may resist the tribute: 'resist' or 'pass'",
    Phase.PAY: "You pay tribute: one of your highest cards",
    Phase.CHOOSE: "Two tributes are equal: which card do you take?",
    Phase.RETURN: "You return a card",
}
_BOT_MOVES = {
    Phase.PAY: "pays a card",
    Phase.CHOOSE: "chooses a tribute",
    Phase.RETURN: "returns a card",
}


class QuitGame(Exception):
    """The person wants no more, or the input is at its end."""


def main(argv: list[str]) -> int:
    """Play a deal or a game; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="guandan play",
        allow_abbrev=False,
        description="You sit at seat 0, your partner at seat 2. A move is " + _HELP + ".",
        epilog="agents: "
        + "; ".join(f"{n} ({text})" for n, text in describe_agents().items())
        + "; module:Class of your own in the current folder",
    )
    parser.add_argument("--episode", choices=("deal", "game"), default="deal", help="default: deal")
    parser.add_argument("--rules", default="default", help="a preset; `guandan rules` lists them")
    parser.add_argument("--level", help="of a single deal, 2…A (default: a random one)")
    parser.add_argument("--seed", type=int, help="of the deals (default: a new one each time)")
    parser.add_argument("--agents", default="greedy", metavar="SPEC", help="the other players")
    parser.add_argument("--partner", metavar="SPEC", help="your partner, if not one like the rest")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the deals to a new file")
    args = parser.parse_args(argv)
    if args.episode == "game" and args.level is not None:
        raise GuandanError(f"--level {args.level}: only a deal has it; a game begins as its rules")
    rules = RuleSet.preset(args.rules)
    seed = secrets.randbelow(2**31) if args.seed is None else args.seed
    engine = Engine(
        1,
        rules,
        seed=seed,
        episode=args.episode,
        level=rules.fixed_level if args.level is None else args.level,
    )
    others = make(args.agents)
    partner = others if args.partner is None else make(args.partner)
    if isinstance(sys.stdin, io.TextIOWrapper):
        # Bytes that are no text become a move that is refused, not the end of the game.
        sys.stdin.reconfigure(errors="replace")
    writer = None if args.record is None else RecordWriter(args.record)
    game = Game(
        engine,
        others,
        partner,
        sys.stdin,
        sys.stdout,
        color=sys.stdout.isatty() and "NO_COLOR" not in os.environ,
        reveal_counts_at=Conduct.preset(args.rules).reveal_counts_at,
        writer=writer,
    )
    print(f"Rules {args.rules}, seed {seed}. A move is {_HELP}.")
    try:
        game.play()
    except (QuitGame, KeyboardInterrupt) as left:
        print("\nGoodbye.")
        game.record()  # the deal as far as it went
        if isinstance(left, KeyboardInterrupt):
            raise
    finally:
        if writer is not None:
            writer.close()
    return 0


class Game:
    """An engine of one table, a person who reads `output` and types into `source`, and bots."""

    def __init__(
        self,
        engine: Engine,
        others: Agent,
        partner: Agent,
        source: TextIO,
        output: TextIO,
        *,
        color: bool = False,
        reveal_counts_at: int = HAND_SIZE,
        writer: RecordWriter | None = None,
    ) -> None:
        self.engine, self.source, self.output, self.color = engine, source, output, color
        self.reveal_counts_at = reveal_counts_at
        self.writer = writer
        self.starts = DealStarts(1)
        self.bots = {1: others, PARTNER: partner, 3: others}
        self.adviser = make(ADVISER)
        self.names = ("you", others.name, partner.name, others.name)
        for agent in (others, partner, self.adviser):
            agent.reset()

    def play(self) -> None:
        """Play until the episode is over; raises `QuitGame` where the person leaves."""
        state = self.engine.state
        self.starts.note(state, _TABLE)
        self._open_deal()
        while not state.over[0]:
            seat, phase = int(state.seat[0]), Phase(state.phase[0])
            decisions = self.engine.decisions()
            if seat == PERSON:
                row, cards = self._ask(decisions)
            else:
                rows, given = require(self.bots[seat], decisions)
                row, cards = int(rows[0]), given[0]
            if phase is Phase.PLAY and row != PASS and (cards is None or not cards.any()):
                cards = self._choose(row)
            self._tell(seat, phase, row, cards)
            result = self.engine.step(
                np.array([row]),
                None if cards is None or phase is not Phase.PLAY else cards[None],
                go_on=False,
            )
            if result.deal_over[0]:
                self._close_deal(result)
            elif phase is not Phase.PLAY and state.phase[0] == Phase.PLAY:
                self._tell_tribute()
            elif phase is Phase.PLAY and state.lead[0] == PASS:
                self._say("")  # a trick is over

    def record(self) -> None:
        """Write the deal as it stands to the file of records, if there is one."""
        if self.writer is not None:
            self.writer.write(deal_record(self.engine, 0, self.starts, players=self.names))

    def _say(self, text: str) -> None:
        print(text, file=self.output)

    def _read(self, prompt: str) -> str:
        print(prompt, end="", file=self.output, flush=True)
        line = self.source.readline()
        word = line.strip()
        if not line or word.casefold() in ("quit", "q", "exit"):
            raise QuitGame
        return word

    # ------------------------------------------------------------------ the person's moves

    def _ask(self, decisions: Decisions) -> tuple[int, Counts | None]:
        """The person's legal move: a row, and the cards if they were named."""
        situation = Situation(
            mask=decisions.mask[0],
            hand=decisions.hand[0],
            level=int(decisions.level[0]),
            lead=int(decisions.lead[0]),
            phase=Phase(decisions.phase[0]),
            flush_straight_as_straight=self.engine.rules.flush_straight_as_straight,
        )
        hints = list_hints(situation, int(require(self.adviser, decisions)[0][0]))
        scene = scene_of(
            self.engine.state,
            0,
            self.names,
            viewer=PERSON,
            reveal_counts_at=self.reveal_counts_at,
        )
        self._say("\n" + render_text(scene, color=self.color) + "\n")
        question = _QUESTIONS.get(situation.phase) or self._play_question(situation.lead)
        while True:
            text = self._read(f"{question} > ")
            if text.casefold() in ("?", "hint", "hints", "help"):
                self._show_hints(hints, situation)
                continue
            try:
                move = parse_move(text, situation, hints)
            except GuandanError as error:
                self._say(f"{error}.")
                continue
            row = self._claim(move)
            if row is not None:
                return row, move.cards

    def _play_question(self, lead: int) -> str:
        if lead == PASS:
            return "You lead"
        seat = int(self.engine.state.lead_seat[0])
        whose = "your partner" if seat == PARTNER else f"seat {seat}"
        return f"Beat {row_name(lead)} of {whose}, or Enter to pass"

    def _claim(self, move: Move) -> int | None:
        """The one row that is meant; None where the person thinks better of it."""
        if len(move.rows) == 1:
            return move.rows[0]
        for number, row in enumerate(move.rows, 1):
            self._say(f"{number:>4}  {row_name(row)}")
        while True:
            text = self._read("These cards can be all of these: which number? (Enter: none) > ")
            if not text:
                return None
            numbers = [str(number) for number in range(1, len(move.rows) + 1)]
            if text in numbers:
                return move.rows[numbers.index(text)]
            self._say(f"{text!r} is none of the numbers 1 to {len(move.rows)}.")

    def _show_hints(self, hints: list[int], situation: Situation) -> None:
        phase = situation.phase
        self._say(f"   1  {describe(hints[0], phase)}   ({ADVISER} would)")
        numbered = list(enumerate(hints, 1))[1:]
        for pattern, group in groupby(numbered, key=lambda item: int(ROW_PATTERN[item[1]])):
            # Non-breaking spaces keep a number and its name in one line.
            entries = [f"{n} {describe(row, phase)}".replace(" ", "\xa0") for n, row in group]
            title = Pattern(pattern).name.lower().replace("_", " ")
            lines = textwrap.wrap(
                " · ".join(entries), WIDTH, initial_indent=f"{title}: ", subsequent_indent="   "
            )
            self._say("\n".join(lines).replace("\xa0", " "))
        more = int(np.count_nonzero(situation.mask)) - len(hints)
        if more:
            self._say(f"… and {more} more; any legal cards or name will do.")
        self._say("")

    # ------------------------------------------------------------------ what happens, told

    def _choose(self, row: int) -> Counts:
        """The cards that the engine chooses for a row of the seat to act."""
        state = self.engine.state
        flush = self.engine.rules.flush_straight_as_straight
        bits = choose_cards(
            state.hands[[0], state.seat], np.array([row]), state.level, flush_is_straight=flush
        )
        return to_counts(bits)[0]

    def _tell(self, seat: int, phase: Phase, row: int, cards: Counts | None) -> None:
        who = f"{seat} {self.names[seat]}"
        if phase is Phase.RESIST:
            what = "resists the tribute" if row == RESIST else "does not resist"
        elif phase is not Phase.PLAY:
            # Of two payments or returns the first stays secret until the second is made.
            what = row_name(row) if seat == PERSON else _BOT_MOVES[phase]
        elif row == PASS or cards is None:
            what = "pass"
        else:
            held = int(np.bitwise_count(self.engine.state.hands[0, seat]).sum())
            left = held - int(np.bitwise_count(to_bits(cards)).sum())
            what = f"{row_name(row):<16}  {' '.join(card_names(cards))}"
            if seat == PERSON or is_revealed(left, self.reveal_counts_at):
                what += f"   ({left} left)" if left else "   (out)"
        self._say(f"  {who:<12} {what}")

    def _tell_tribute(self) -> None:
        for line in tribute_lines(self.engine.state, 0):
            self._say(f"  {line}")
        self._say("")

    def _open_deal(self) -> None:
        state = self.engine.state
        self._say(f"\n=== Deal {state.deal[0] + 1}, level {RANKS[state.level[0]]} ===")
        if state.phase[0] == Phase.PLAY:
            self._tell_tribute()

    def _close_deal(self, result: StepResult) -> None:
        order = result.order[0].tolist()
        places = ", ".join(
            f"{place} {self.names[seat]} ({seat})"
            for place, seat in zip(PLACE_NAMES, order, strict=True)
        )
        gain = int(result.reward[0, PERSON])
        whose = "You and your partner win" if gain > 0 else "Your opponents win"
        self._say(f"\nFinished: {places}.")
        self._say(f"{whose} {abs(gain)} level{'s' * (abs(gain) != 1)}.")
        self.record()
        if not result.over[0]:
            self.engine.next_deal(_TABLE)
            self.starts.note(self.engine.state, _TABLE)
            self._open_deal()
        elif self.engine.episode == "game":
            ends = ("You and your partner win the game.", "Your opponents win the game.")
            self._say((*ends, "The game is a draw.")[self.engine.state.winner[0]])
