"""Recorded deals in the terminal and as a page: what is shown, and what never becomes markup."""

from __future__ import annotations

import copy
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from agents.greedy import Greedy
from agents.random_bot import Random
from eval.duplicate import Terms, play_pairs
from guandan_env.actions import ROWS
from guandan_env.cards import RANKS
from guandan_env.cli import main
from guandan_env.notation import parse_row
from guandan_env.record_file import write_records
from guandan_env.record_shape import RecordError
from guandan_env.replay_html import claimed_cards, replay_page
from guandan_env.rules import RuleSet

GOLDEN = Path(__file__).parent / "data" / "replay.txt"
HOSTILE = "</script><script>alert(1)</script>\"'<img src=x onerror=alert(1)>{{data}}"


def recorded(episode: str = "deal", pairs: int = 3, preset: str = "default") -> list[dict]:
    terms = Terms(rules=RuleSet.preset(preset), episode=episode, record=True, seed=7)
    parts = play_pairs(Greedy(), Random(), 0, pairs, terms).records
    return json.loads(json.dumps([record for part in parts for record in part]))


DEALS = recorded()
GAME = recorded("game", 1)
FILE = [DEALS[0], GAME[-1]]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "deals.jsonl"
    write_records(path, FILE)
    return path


def test_the_terminal_shows_what_it_always_showed(file, capsys):
    """Written anew by `python tests/test_replay.py`."""
    assert main(["replay", str(file)]) == 0
    assert capsys.readouterr().out == GOLDEN.read_text(encoding="utf-8")


def test_one_deal_is_shown_alone(file, capsys):
    assert main(["replay", str(file), "--deal", "2"]) == 0
    assert GOLDEN.read_text(encoding="utf-8").endswith(capsys.readouterr().out)
    for wrong in ("0", "3"):
        assert main(["replay", str(file), "--deal", wrong]) == 2
    assert "1 to 2 are there" in capsys.readouterr().err


def test_a_damaged_deal_is_shown_up_to_its_fault(tmp_path, capsys):
    told = copy.deepcopy(DEALS[0])
    told["moves"][20]["seat"] = (told["moves"][20]["seat"] + 1) % 4
    path = tmp_path / "deals.jsonl"
    write_records(path, [told])
    assert main(["replay", str(path)]) == 2
    shown = capsys.readouterr()
    assert "deal 1, move 21: seat" in shown.err
    assert re.search(r"^ +20  ", shown.out, re.M)
    assert not re.search(r"^ +21  ", shown.out, re.M)
    assert main(["replay", str(path), "--html", str(tmp_path / "page.html")]) == 2
    assert not (tmp_path / "page.html").exists()


def test_a_fault_and_an_unfinished_deal_are_told(tmp_path, capsys):
    broken, left = copy.deepcopy(DEALS[:2])
    for told in (broken, left):
        told["moves"] = told["moves"][:8]
        told["result"] = None
    seat = DEALS[0]["moves"][8]["seat"]
    broken["fault"] = {"seat": seat, "agent": "bad\x1b[2J", "text": "boom\nbang"}
    path = tmp_path / "deals.jsonl"
    write_records(path, [broken, left])
    assert main(["replay", str(path)]) == 0
    shown = capsys.readouterr().out
    assert f"Fault of seat {seat} (bad\\x1b[2J): boom bang" in shown
    assert "The deal was not played to its end." in shown
    assert "\x1b" not in shown
    page = replay_page([(1, broken)])
    assert "boom bang" in data_of(page)[0]["closing"][-1]


# ---------------------------------------------------------------------- the page


class Page(HTMLParser):
    """What a browser would find in a page: tags with their attributes, and texts of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.scripts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.lasttag == "script" and self.scripts:
            self.scripts[-1] += data


def data_of(page: str) -> list[dict]:
    return json.loads(Page(page).scripts[0])


def hostile() -> dict:
    told = copy.deepcopy(DEALS[0])
    told["players"] = [HOSTILE] * 4
    told["context"] = {HOSTILE: HOSTILE}
    told["moves"][0]["choices"] = [{"claim": HOSTILE, "value": 1.5}]
    return told


def test_the_page_asks_for_nothing_from_outside():
    page = replay_page(enumerate(FILE, start=1))
    for tag, attributes in Page(page).tags:
        assert tag not in ("link", "iframe", "object", "embed", "base", "img", "form"), tag
        assert not {"src", "href", "action", "srcset", "data", "style"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
    assert "http" not in page.lower().replace("http-equiv", "")
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|WebSocket|import\(|eval\(", page)
    [policy] = [a["content"] for t, a in Page(page).tags if a.get("http-equiv")]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_hostile_texts_stay_texts():
    plain, page = (Page(replay_page([(1, told)])) for told in (DEALS[0], hostile()))
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in plain.tags]
    assert len(page.scripts) == 2
    deal = json.loads(page.scripts[0])[0]
    assert deal["players"] == [HOSTILE] * 4
    assert deal["moves"][0]["choices"] == [[HOSTILE, 1.5]]


def test_every_frame_holds_the_hands_that_the_moves_leave():
    deal = data_of(replay_page([(1, GAME[0])]))[0]
    assert len(deal["frames"]) == len(deal["moves"]) + 1
    hands, before = {}, {}
    for number, frame in enumerate(deal["frames"]):
        hands |= frame["hands"]
        if number and deal["moves"][number - 1]["kind"] == "play":
            move = deal["moves"][number - 1]
            gone = before[str(move["seat"])]
            for card, _ in move["cards"]:
                gone = re.sub(f"^((?:..)*?){card}", r"\1", gone, count=1)
            assert gone == hands[str(move["seat"])]
        before = dict(hands)
    assert sum(map(len, before.values())) < 2 * 108


@pytest.mark.parametrize(
    ("claim", "cards", "shown"),
    [
        ("pair 77 with wild as 7", "S7 H5", "S7 H5=7"),
        ("pair 55 with wild as 5", "H5 S5", "S5 H5=5"),
        ("single wild", "H5", "H5"),
        ("pair of wilds", "H5 H5", "H5 H5"),
        ("full house 77799 with wild as 9", "H5 S7 C7 D7 D9", "S7 C7 D7 D9 H5=9"),
        ("full house 777 and pair of wilds", "H5 H5 S7 C7 D7", "S7 C7 D7 H5 H5"),
        ("straight A2345", "SA H2 C3 D4 S5", "SA H2 C3 D4 S5"),
        ("straight flush 34567 of spades with wild as 7", "H5 S3 S4 S5 S6", "S3 S4 S5 S6 H5=S7"),
        ("joker bomb", "SB SB HR HR", "SB SB HR HR"),
    ],
)
def test_a_wild_is_shown_as_what_it_stands_for(claim, cards, shown):
    told = claimed_cards(parse_row(claim), cards.split(), level=RANKS.index("5"))
    assert " ".join(card + (f"={stands}" if stands else "") for card, stands in told) == shown


def test_every_play_of_a_batch_is_shown_whole():
    for told in DEALS:
        for move in told["moves"]:
            if move["move"] == "play":
                cards = claimed_cards(
                    move["row"],
                    move["cards"].split(),
                    RANKS.index(told["start"]["level"]),
                )
                assert sorted(c for c, _ in cards) == sorted(move["cards"].split())
                assert sum(bool(s) for _, s in cards) == sum(ROWS[move["row"]].wild_as)


def test_the_command_writes_a_new_page_only(file, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["replay", str(file), "--html", str(page)]) == 0
    assert "2 deals" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert [deal["number"] for deal in data_of(text)] == [1, 2]
    assert main(["replay", str(file), "--html", str(page)]) == 2
    assert page.read_text(encoding="utf-8") == text
    assert main(["replay", str(file), "--html", str(tmp_path / "no" / "page.html")]) == 2
    with pytest.raises(RecordError, match="no deal"):
        replay_page([])


def write_golden() -> None:
    import contextlib
    import io
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "deals.jsonl"
        write_records(path, FILE)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            main(["replay", str(path)])
    GOLDEN.write_text(out.getvalue(), encoding="utf-8")


if __name__ == "__main__":
    write_golden()
