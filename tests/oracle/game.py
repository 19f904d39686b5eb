"""Deals and whole games, one decision at a time.

Where the rules leave room, this oracle reads them as follows.

1. The two hearts of ``first_lead="heart_level"`` and every sudden-death lead are the caller's.
   Sudden death is led from a turned card also under ``"heart_level"``.
2. ``higher_seat``: "later in seat order" is the higher seat number, not the later in turn.
3. ``tribute_lead="last"`` decides the lead after two tributes whatever ``tribute_tie`` and
   ``return_tie`` say; under the other two values, a card picked under ``tribute_tie="choose"``
   decides it, and ``return_tie="choose_lead"`` decides before the picked card does.
4. ``return_tie`` also holds for two equal tributes of one kind (nothing to pick), and only with
   ``tribute_pairing="rank"`` and ``tribute_tie="choose"``.
5. ``tribute_pairing="seat"`` settles who pays whom; the payer of the higher card may still lead.
6. Under ``return_limit="any"`` and to an opponent a wild or a joker may be returned.
7. The card just received stays forbidden where no card is eligible, unless it is all there is.
8. A side at A whose win does not pass A becomes declarer at A; it does not "arrive" there, so
   nothing of its promotion is surplus.
9. Surplus counts what is left of a gain after debt; it is taken off after an ``ace_reset`` of the
   same deal, and makes no debt.
10. A side that ``ace_reset`` sends back gains nothing by the deal that did it.
11. Attempts are counted only under ``ace="pass"``; leaving A in any way sets them to 0.
12. ``ace="reach"`` looks at the level after bonus, loss and debt.
13. The losing side's streak loss is taken in the deal that ends the game too.
14. ``ace="wrap"`` knows no surplus and no attempts; a loss stops at step 0, not at each 2.
15. Under ``fixed_level`` only the score (the sum of table promotions) grows: no test at A, no
    attempts, no streak bonus or loss; ``higher`` and its ties compare scores.
16. ``overtime``: the first later deal after which the levels differ ends the game, the higher
    level wins.  ``at_limit_tie=None`` is a draw.
17. ``non_declarer``: the side that did not win the last deal.
18. A win by the ordinary rules in the last deal allowed stands before the limit is looked at.
19. A game that starts with ``deals_played`` at the limit is decided at once, by sudden death or
    by level; a tie that hangs on the last deal needs ``previous_order``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from . import tribute
from .cards import RANKS, canonical, remove, wild_of
from .plays import Claim, choose_cards, exact_plays, legal_claims
from .promotion import Standing, promotion_of

PASS = ("pass",)
RESIST = ("resist",)


@dataclass(frozen=True)
class DealResult:
    """What a deal came to.

    ``order`` has four seats, first to last (one after sudden death); ``gain`` is the winners'
    promotion by the table (0 after sudden death); ``step_change`` and ``steps`` are per side;
    ``declarer`` is the side that declares the next deal; ``winner`` is the side that won the
    game, None while it goes on and after a draw.
    """

    order: tuple[int, ...]
    gain: int
    step_change: tuple[int, int]
    steps: tuple[int, int]
    declarer: int
    game_over: bool
    winner: int | None


class OracleGame:
    """One game, from any standing.

    ``deal(number)`` gives ``(hands, turned_leader)`` or ``(hands, turned_leader,
    first_heart_seat)`` for the deal with that number, which is ``deals_played`` before it.
    ``steps``, ``declarer`` and ``previous_order`` say where the game stands; without
    ``previous_order`` the first deal has no tribute and a turned lead.  ``max_deals`` counts
    from ``deals_played``, which under ``limit_scope="match"`` includes earlier games.
    ``counters`` may set ``attempts``, ``debt``, ``score``, ``last_run`` and ``first_run``.
    """

    def __init__(
        self,
        options: object,
        deal: Callable[[int], tuple],
        *,
        steps: Sequence[int] | None = None,
        declarer: int | None = None,
        previous_order: Sequence[int] | None = None,
        deals_played: int = 0,
        **counters: Sequence[int],
    ) -> None:
        self.options = options
        self.deal_callback = deal
        start = RANKS.index(options.fixed_level or options.start_level)
        self.standing = Standing(options, steps if steps is not None else (start, start))
        for name, values in counters.items():
            getattr(self.standing, name)[:] = values
        self.previous_order = tuple(previous_order) if previous_order is not None else None
        if self.previous_order is not None:
            if declarer not in (None, self.previous_order[0] % 2):
                raise ValueError("the declarer is the side of the first player")
            declarer = self.previous_order[0] % 2
        if declarer is None and self.steps[0] != self.steps[1]:
            raise ValueError("without a declarer both sides have the same level")
        self.declarer = declarer
        self.deals_played = deals_played
        self.is_sudden_death = False
        self.winner: int | None = None
        self.last_result: DealResult | None = None
        if self.is_limit_reached() and not self.decide_at_limit():
            self.phase, self.seat = "over", None
        else:
            self.start_deal()

    # ---- where the game stands

    steps = property(lambda self: tuple(self.standing.steps))
    attempts = property(lambda self: tuple(self.standing.attempts))
    debt = property(lambda self: tuple(self.standing.debt))
    score = property(lambda self: tuple(self.standing.score))
    last_run = property(lambda self: tuple(self.standing.last_run))
    first_run = property(lambda self: tuple(self.standing.first_run))

    @property
    def game_over(self) -> bool:
        """Whether the game has ended."""
        return self.phase == "over"

    def level_now(self) -> str:
        """The level of the deal about to start."""
        if self.is_sudden_death:
            return "A"
        if self.options.fixed_level is not None:
            return self.options.fixed_level
        return RANKS[self.steps[self.declarer or 0] % 13]

    # ---- decisions

    def legal(self) -> set[tuple]:
        """The actions open to ``seat``; empty when the game is over."""
        if self.phase == "over":
            return set()
        hand = self.hands[self.seat]
        if self.phase == "resist":
            return {RESIST, PASS}
        if self.phase == "pay":
            return {("card", card) for card in tribute.payable(hand, self.level)}
        if self.phase == "choose":
            return {("card", card) for card in self.paid.values()}
        if self.phase == "return":
            payer = self.payer_of(self.seat)
            cards = tribute.returnable(
                hand, self.paid[payer], self.seat, payer, self.level, self.options
            )
            return {("card", card) for card in cards}
        plays = {
            ("play", claim)
            for claim in legal_claims(hand, self.level, self.claim_to_beat, self.options)
        }
        return plays if self.claim_to_beat is None else plays | {PASS}

    def act(self, action: tuple, cards: list[str] | None = None) -> None:
        """Take an action; ``cards`` are the exact cards of a play, by default as chosen for it."""
        if action not in self.legal():
            raise ValueError(f"{action} is not legal for seat {self.seat} in phase {self.phase}")
        if self.phase == "resist":
            self.act_resist(action)
        elif self.phase == "pay":
            self.act_pay(action[1])
        elif self.phase == "choose":
            self.picked = next(payer for payer in self.paid if self.paid[payer] == action[1])
            self.transfer_paid()
        elif self.phase == "return":
            self.act_return(action[1])
        elif action == PASS:
            self.passed.add(self.seat)
            self.next_turn()
        else:
            self.act_play(action[1], cards)

    # ---- the start of a deal and its tribute

    def start_deal(self) -> None:
        """Deal, and come to the first decision."""
        self.level = self.level_now()
        hands, turned_leader, *heart = self.deal_callback(self.deals_played)
        self.hands = [canonical(list(hand)) for hand in hands]
        self.finished: list[int] = []
        self.paid: dict[int, str] = {}
        self.returned: dict[int, str] = {}
        self.picked: int | None = None
        self.receivers: dict[int, int] = {}
        if self.is_sudden_death:
            self.start_play(turned_leader)
        elif self.previous_order is None:
            is_by_heart = self.options.first_lead == "heart_level"
            self.start_play(self.heart_leader(heart) if is_by_heart else turned_leader)
        elif not self.options.tribute:
            self.start_play(self.previous_order[0])
        else:
            self.start_tribute()

    def heart_leader(self, given: list[int]) -> int:
        """The seat dealt a heart of the level first: as given, or the only one that has any."""
        if given:
            return given[0]
        (seat,) = [seat for seat in range(4) if wild_of(self.level) in self.hands[seat]]
        return seat

    def start_tribute(self) -> None:
        """Resist where that is possible, else go on to pay."""
        self.waiting = tribute.resisters_of(self.previous_order, self.hands)
        if not self.waiting:
            self.start_pay()
        elif self.options.resist == "must":
            self.start_play(self.previous_order[0])
        else:
            self.phase, self.seat = "resist", self.waiting.pop(0)

    def act_resist(self, action: tuple) -> None:
        """One resists for all; tribute is paid when all who may resist have declined."""
        if action == RESIST:
            self.start_play(self.previous_order[0])
        elif self.waiting:
            self.seat = self.waiting.pop(0)
        else:
            self.start_pay()

    def start_pay(self) -> None:
        """Ask the payers in turn."""
        self.waiting = tribute.payers_of(self.previous_order)
        self.phase, self.seat = "pay", self.waiting.pop(0)

    def act_pay(self, card: str) -> None:
        """Note the card; it stays in the hand until all have paid and the choice is made."""
        self.paid[self.seat] = card
        if self.waiting:
            self.seat = self.waiting.pop(0)
        elif tribute.may_choose(self.paid, self.level, self.options):
            self.phase, self.seat = "choose", self.previous_order[0]
        else:
            self.transfer_paid()

    def transfer_paid(self) -> None:
        """Move the paid cards; then the receivers return, the first player first."""
        self.receivers = tribute.receivers_of(
            self.previous_order, self.paid, self.picked, self.level, self.options
        )
        for payer, receiver in self.receivers.items():
            self.move_card(self.paid[payer], payer, receiver)
        self.waiting = [seat for seat in self.previous_order if seat in self.receivers.values()]
        self.phase, self.seat = "return", self.waiting.pop(0)

    def act_return(self, card: str) -> None:
        """Note the card; both returns are turned up and move together."""
        self.returned[self.payer_of(self.seat)] = card
        if self.waiting:
            self.seat = self.waiting.pop(0)
            return
        for payer, returned in self.returned.items():
            self.move_card(returned, self.receivers[payer], payer)
        leader = tribute.leader_after_tribute(
            self.previous_order, self.paid, self.picked, self.returned, self.level, self.options
        )
        self.start_play(leader)

    def payer_of(self, receiver: int) -> int:
        """The seat that paid a receiver."""
        return next(payer for payer, seat in self.receivers.items() if seat == receiver)

    def move_card(self, card: str, giver: int, taker: int) -> None:
        """Move one card from a hand to another."""
        self.hands[giver].remove(card)
        self.hands[taker] = canonical([*self.hands[taker], card])

    # ---- play

    def start_play(self, leader: int) -> None:
        """Begin the first trick."""
        self.phase = "play"
        self.lead(leader)

    def lead(self, seat: int) -> None:
        """Begin a trick."""
        self.seat = seat
        self.claim_to_beat: Claim | None = None
        self.last_player: int | None = None
        self.passed: set[int] = set()

    def act_play(self, claim: Claim, cards: list[str] | None) -> None:
        """Put a play on the table."""
        hand = self.hands[self.seat]
        if cards is None:
            cards = choose_cards(claim, hand, self.level, self.options)
        elif canonical(cards) not in exact_plays(claim, hand, self.level, self.options):
            raise ValueError(f"{cards} are not cards of seat {self.seat} for the claim {claim}")
        self.hands[self.seat] = remove(hand, cards)
        self.claim_to_beat, self.last_player, self.passed = claim, self.seat, set()
        if not self.hands[self.seat]:
            self.finished.append(self.seat)
            if self.is_deal_over():
                self.end_deal()
                return
        self.next_turn()

    def is_deal_over(self) -> bool:
        """Whether one side, or three players, are out; in sudden death, whether anyone is."""
        if self.is_sudden_death:
            return True
        side_out = any({side, side + 2} <= set(self.finished) for side in (0, 1))
        return side_out or len(self.finished) == 3

    def next_turn(self) -> None:
        """Go to the next seat with cards, or end the trick when all of them have passed."""
        others = [s for s in range(4) if self.hands[s] and s != self.last_player]
        if all(seat in self.passed for seat in others):
            self.end_trick()
        else:
            self.seat = self.next_with_cards(self.seat)

    def next_with_cards(self, seat: int) -> int:
        """The next seat in turn that has cards."""
        seat = tribute.following(seat)
        while not self.hands[seat]:
            seat = tribute.following(seat)
        return seat

    def end_trick(self) -> None:
        """The last player leads; if it has no cards left, the wind (借风) says who does."""
        if self.hands[self.last_player]:
            self.lead(self.last_player)
        elif self.options.wind == "partner":
            self.lead((self.last_player + 2) % 4)
        else:
            self.lead(self.next_with_cards(self.last_player))

    # ---- the end of a deal and of the game

    def full_order(self) -> tuple[int, ...]:
        """First to last; after a double-down the last is next(first)."""
        order = list(self.finished)
        if len(order) == 2:
            return (*order, tribute.preceding(order[0]), tribute.following(order[0]))
        return (*order, *({0, 1, 2, 3} - set(order)))

    def end_deal(self) -> None:
        """Settle the deal; then the game is over or the next deal starts."""
        before = self.steps
        self.deals_played += 1
        if self.is_sudden_death:
            order, gain = tuple(self.finished), 0
            self.winner = order[0] % 2
            over = True
        else:
            order = self.previous_order = self.full_order()
            gain = promotion_of(order, self.options)
            self.winner = self.standing.settle(order, self.declarer)
            self.declarer = order[0] % 2
            over = self.winner is not None
            if not over and self.is_limit_reached():
                over = not self.decide_at_limit()
        self.last_result = DealResult(
            order=order,
            gain=gain,
            step_change=(self.steps[0] - before[0], self.steps[1] - before[1]),
            steps=self.steps,
            declarer=order[0] % 2,
            game_over=over,
            winner=self.winner,
        )
        if over:
            self.phase, self.seat = "over", None
        else:
            self.start_deal()

    def is_limit_reached(self) -> bool:
        """Whether the deals allowed are used up."""
        return self.options.max_deals is not None and self.deals_played >= self.options.max_deals

    def decide_at_limit(self) -> bool:
        """Decide the game at its limit; True if another deal must be played."""
        if self.options.at_limit == "sudden_death":
            self.is_sudden_death = True
            return True
        values = self.steps if self.options.fixed_level is None else self.score
        tie = self.options.at_limit_tie
        if values[0] != values[1]:
            self.winner = 0 if values[0] > values[1] else 1
        elif tie == "overtime":
            return True
        elif tie in ("last_first", "non_declarer"):
            if self.previous_order is None:
                raise ValueError("the tie hangs on the last deal: give previous_order")
            last_winner = self.previous_order[0] % 2
            self.winner = last_winner if tie == "last_first" else 1 - last_winner
        else:
            self.winner = None
        return False
