"""What a server plays, and how long and how much it bears."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address

from guandan_env.errors import GuandanError
from guandan_env.rules import RuleSet

LATE = ("agent", "forfeit")
MOST_GAMES = 1000


@dataclass(frozen=True)
class Limits:
    """Times are in seconds.

    move_time: for a decision. return_within: how long a dropped peer may stay away. wait: from the
    first peer in a room until agents take the seats that are left. late_moves: so many decisions
    not made in time, and the seat is lost. wrong_answers: to one decision, before it counts as
    late. returns: how often a peer may drop and come back in one room. rooms, watchers (of a
    room), sockets: at a time. lobby_time: to find a seat or to send a request. messages, burst: a
    second, and at once. unsent: messages that a peer has not read yet.
    """

    move_time: float = 30.0
    return_within: float = 60.0
    wait: float = 15.0
    late_moves: int = 3
    wrong_answers: int = 5
    returns: int = 20
    rooms: int = 64
    watchers: int = 32
    sockets: int = 512
    lobby_time: float = 30.0
    messages: float = 20.0
    burst: float = 60.0
    unsent: int = 2000


@dataclass(frozen=True)
class Terms:
    """What is played in every room.

    fill: the spec of the agent on all seats that no peer takes. open_seats: those that peers may
    take. games: in a room of the old platform; others say it themselves. late: who plays for a
    peer that is lost, an `agent`, or its side forfeits (`forfeit`). Raises `GuandanError` for rules
    that ask what the platform has no message for.
    """

    rules: RuleSet
    seed: int
    fill: str = "greedy"
    open_seats: tuple[int, ...] = (0, 1, 2, 3)
    games: int = 1
    late: str = "agent"
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        asks = [
            f"{name}={value!r}"
            for name, value in (("resist", "may"), ("tribute_tie", "choose"))
            if getattr(self.rules, name) == value
        ]
        if asks:
            raise GuandanError(
                f"rules {self.rules.name!r} have {' and '.join(asks)}; the platform has no message "
                "to ask that, so rules without are allowed, such as njupt"
            )


def is_here(host: str) -> bool:
    """Whether a name or address of a host is this machine's loopback."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
