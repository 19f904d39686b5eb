"""Tribute (进贡) and return (还牌): who pays, what may be paid and returned, who leads.

Nothing here remembers anything; the order of the decisions is in ``game``.
"""

from __future__ import annotations

from collections.abc import Sequence

from .cards import BIG_JOKER, canonical, level_value, rank_of, wild_of


def following(seat: int) -> int:
    """The seat that acts after this one (下家)."""
    return (seat + 1) % 4


def preceding(seat: int) -> int:
    """The seat that acts before this one (上家)."""
    return (seat + 3) % 4


def is_double_down(order: Sequence[int]) -> bool:
    """Whether one side took first and second (双下)."""
    return order[0] % 2 == order[1] % 2


def payers_of(order: Sequence[int]) -> list[int]:
    """The seats that pay after a deal with this finishing order, in the order they decide."""
    if is_double_down(order):
        return [following(order[0]), preceding(order[0])]
    return [order[3]]


def resisters_of(order: Sequence[int], hands: list[list[str]]) -> list[int]:
    """The seats that may resist, in the order they are asked; none without both big jokers."""
    payers = payers_of(order)
    holders = [seat for seat in payers if BIG_JOKER in hands[seat]]
    if sum(hands[seat].count(BIG_JOKER) for seat in payers) == 2:
        return holders
    return []


def payable(hand: list[str], level: str) -> list[str]:
    """The kinds of card of which one must be paid: the highest, wilds excepted."""
    cards = sorted({card for card in hand if card != wild_of(level)})
    highest = max(level_value(rank_of(card), level) for card in cards)
    return canonical([card for card in cards if level_value(rank_of(card), level) == highest])


def is_equal(one: str, other: str, level: str) -> bool:
    """Whether two cards are equal in level order; suits do not count."""
    return level_value(rank_of(one), level) == level_value(rank_of(other), level)


def may_choose(paid: dict[int, str], level: str, options: object) -> bool:
    """Whether the first player picks one of two equal tributes."""
    if options.tribute_pairing != "rank" or options.tribute_tie != "choose" or len(paid) < 2:
        return False
    one, other = paid.values()
    return is_equal(one, other, level) and one != other


def higher_payer(paid: dict[int, str], level: str) -> int | None:
    """The payer of the higher of two cards, None if they are equal."""
    (one, card), (other, other_card) = paid.items()
    if is_equal(card, other_card, level):
        return None
    values = {seat: level_value(rank_of(paid[seat]), level) for seat in (one, other)}
    return max(values, key=values.get)


def receivers_of(
    order: Sequence[int],
    paid: dict[int, str],
    picked: int | None,
    level: str,
    options: object,
) -> dict[int, int]:
    """Payer to receiver. ``picked`` is the payer whose card the first player chose, if it did."""
    first, second = order[:2]
    if len(paid) == 1:
        return dict.fromkeys(paid, first)
    to_first = following(first)
    if options.tribute_pairing == "rank":
        higher = higher_payer(paid, level)
        if higher is not None:
            to_first = higher
        elif picked is not None:
            to_first = picked
    return {payer: first if payer == to_first else second for payer in paid}


def leader_after_tribute(
    order: Sequence[int],
    paid: dict[int, str],
    picked: int | None,
    returned: dict[int, str],
    level: str,
    options: object,
) -> int:
    """The seat that leads. ``returned`` is what each payer got back."""
    if len(paid) == 1:
        return next(iter(paid))
    next_of_first = following(order[0])
    if options.tribute_lead == "last":
        return next_of_first
    higher = higher_payer(paid, level)
    if higher is not None:
        return higher
    chooses = options.tribute_pairing == "rank" and options.tribute_tie == "choose"
    if chooses and options.return_tie == "choose_lead":
        got_higher = higher_payer(returned, level)
        if got_higher is None:
            return next_of_first
        return next(payer for payer in paid if payer != got_higher)
    if picked is not None:
        return picked
    if options.tribute_lead == "higher_seat":
        return max(paid)
    return next_of_first


def returnable(
    hand: list[str], received: str, giver: int, payer: int, level: str, options: object
) -> list[str]:
    """The kinds of card of which the receiver may give one back; the hand has the received one."""
    candidates = set(hand)
    if hand.count(received) == 1 and len(candidates) > 1:
        candidates.discard(received)
    if options.return_limit == "ten":
        eligible = {c for c in candidates if c[1] in "23456789T" and c[1] != level}
    elif options.return_limit == "any" or giver % 2 != payer % 2:
        eligible = candidates
    else:
        of_level = level_value(level, level)
        eligible = {c for c in candidates if level_value(rank_of(c), level) < of_level}
    if not eligible:
        not_wild = {c for c in candidates if c != wild_of(level)} or candidates
        lowest = min(level_value(rank_of(c), level) for c in not_wild)
        eligible = {c for c in not_wild if level_value(rank_of(c), level) == lowest}
    return canonical(list(eligible))
