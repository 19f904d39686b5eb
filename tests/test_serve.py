"""`guandan serve` and `guandan join`: both platforms' forms, agents at seats, coming back."""

from __future__ import annotations

import asyncio
import json
import urllib.request

import pytest
from serving import ONE_DEAL, SHORT, first, old_bot, play_open, run, say, serving, stages, terms
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from agents import make
from eval.commands.serve import main as serve_main
from eval.serving.client import JoinError, Place, Player
from eval.serving.server import GameServer
from eval.serving.terms import Limits, Terms
from guandan_env.errors import GuandanError
from guandan_env.record_file import RecordWriter, read_records
from guandan_env.record_replay import verify_file
from guandan_env.rules import RuleSet


def test_four_bots_of_the_old_platform_play_with_a_spectator(tmp_path):
    path = tmp_path / "deals.jsonl"

    async def play():
        with RecordWriter(path) as writer:
            async with serving(terms(SHORT, Limits(wait=30)), writer) as served:
                bots = [asyncio.create_task(old_bot(served.url, f"client{i}")) for i in range(3)]
                while not served.games.rooms or len(served.games.rooms[1].free_seats()) > 1:
                    await asyncio.sleep(0.01)
                watching = asyncio.create_task(old_watch(served.url))
                while not served.games.rooms[1].watchers:
                    await asyncio.sleep(0.01)
                last = asyncio.create_task(old_bot(served.url, "client3"))
                return await asyncio.gather(*bots, last), await watching

    heard, seen = run(play)
    for number, messages in enumerate(heard):
        beginning = messages[0]
        assert beginning["stage"] == "beginning"
        assert len(beginning["handCards"]) == 27
        assert beginning["myPos"] == heard.index(messages)
        assert stages(messages)[-2:] == ["gameOver", "gameResult"]
        asked = [m for m in messages if m["type"] == "act"]
        assert asked
        assert {m["stage"] for m in asked} <= {"play", "tribute", "back"}
        assert all("playArea" in place for m in asked for place in m["publicInfo"])
        assert number in range(4)
    # All are told the same, but for their own hands and questions; spectators see no hand.
    public = [[m for m in messages if m["type"] == "notify" and m["stage"] != "beginning"]
              for messages in heard]  # fmt: skip
    assert public[0] == public[1] == public[2] == public[3]
    assert [m for m in seen if m["stage"] != "beginning"] == public[0]
    assert "handCards" not in json.dumps(seen)
    assert sum(public[0][-1]["victoryNum"]) == 2
    assert verify_file(path).deals == stages(heard[0]).count("episodeOver") == 3
    record = next(iter(read_records(path)))
    assert record["players"] == ["client0", "client1", "client2", "client3"]
    plays = [m for m in public[0] if m["stage"] == "play"]
    first_deal = [m["cards"] for m in record["moves"] if m["move"] == "play"]
    told = [sorted(m["curAction"][2]) for m in plays if m["curAction"][0] != "PASS"]
    assert [sorted(cards.split()) for cards in first_deal] == told[: len(first_deal)]


async def old_watch(url: str, room: int = 1) -> list[dict]:
    async with connect(f"{url}/watch/{room}", proxy=None) as connection:
        return [json.loads(data) async for data in connection]


def test_openguandan_rooms_are_created_and_joined():
    async def play():
        async with serving(terms(SHORT, Limits(wait=30), open_seats=(0, 2))) as served:
            one, two = await connect(served.url, proxy=None), await connect(served.url, proxy=None)
            async with one, two:
                made = await say(one, "CREATE_ROOM", userId="ann", round=2, seatNum=0)
                assert made == {
                    "type": "CREATE_ROOM", "code": 200, "data": {"roomId": 1, "userNum": 0},
                }  # fmt: skip
                refused = [
                    await say(two, "JOIN_ROOM", userId="bob", roomId=9, seatNum=2),
                    await say(two, "JOIN_ROOM", userId="bob", roomId=1, seatNum=0),
                    await say(two, "JOIN_ROOM", userId="bob", roomId=1, seatNum=1),
                    await say(two, "JOIN_ROOM", userId="ann", roomId=1, seatNum=2),
                    await say(two, "PLAY", roomId=1, player=0, act=["PASS", "PASS", "PASS"]),
                ]
                assert [m["code"] for m in refused] == [404, 409, 409, 409, 400]
                joined = await say(two, "JOIN_ROOM", userId="bob", roomId=1, seatNum=2)
                assert joined["data"] == {"roomId": 1, "userNum": 2}
                return await asyncio.gather(play_open(one, 1), play_open(two, 1))

    heard = run(play)
    for messages in heard:
        assert "error" not in {m["type"] for m in messages}
        assert {m["type"] for m in messages} == {"notify", "act"}
        assert stages(messages).count("gameOver") == 2
        result = messages[-1]
        assert result["stage"] == "gameResult"
        assert result["victory"] in (0, 1)
        asked = [m for m in messages if m["type"] == "act"]
        assert all(set(place) == {"rest"} for m in asked for place in m["publicInfo"])
        assert all("tributePos" in m for m in asked if m["stage"] == "back")


def test_wrong_answers_are_reported_and_asked_again():
    wrong = iter(["nonsense", '{"actIndex": 100000}', '{"actIndex": "x"}', "{}"])

    def answer(message):
        return next(wrong, None) or first(message)

    async def play():
        async with serving(terms()) as served:
            return await old_bot(served.url, "client0", answer)

    heard = run(play)
    errors = [m for m in heard if m["type"] == "error"]
    assert len(errors) == 4
    for error in errors:
        again = heard[heard.index(error) + 1]
        assert again["type"] == "act"
    assert heard[-1]["stage"] == "gameResult"


def test_one_does_not_speak_out_of_turn():
    async def play():
        async with serving(terms(limits=Limits(wait=30), open_seats=(0, 1))) as served:
            playing = asyncio.create_task(old_bot(served.url, "client0", lambda m: None))
            async with connect(f"{served.url}/game/client1", proxy=None) as connection:
                told = []
                while True:
                    message = json.loads(await connection.recv())
                    if message["type"] == "error":
                        told.append(message)
                        break
                    if message["type"] == "act":
                        await connection.send(json.dumps(first(message)))
                    elif message["stage"] in ("beginning", "play"):
                        await connection.send('{"actIndex": 0}')
            playing.cancel()
            return told[0]["message"]

    assert run(play) == "it is not your turn"


def test_who_does_not_answer_is_replaced_and_the_game_goes_on():
    async def play():
        limits = Limits(wait=0.3, move_time=0.2, late_moves=2)
        async with serving(terms(limits=limits)) as served:
            silent = old_bot(served.url, "client0", lambda message: None)
            return await asyncio.gather(silent, old_watch_when(served))

    heard, seen = run(play)
    assert [m["message"] for m in heard if m["type"] == "error"] == [
        "no answer in time: something was played for you",
        "the seat is lost: an agent plays on",
    ]
    assert seen[-1]["stage"] == "gameResult"


async def old_watch_when(served, room: int = 1):
    while room not in served.games.rooms:
        await asyncio.sleep(0.01)
    return await old_watch(served.url, room)


@pytest.mark.parametrize("drops", [False, True])
def test_who_is_lost_may_forfeit(tmp_path, drops):
    path = tmp_path / "deals.jsonl"

    async def play():
        limits = Limits(wait=0.3, move_time=0.2, late_moves=1, return_within=0.2)
        with RecordWriter(path) as writer:
            async with serving(terms(SHORT, limits, late="forfeit", games=2), writer) as served:
                leaving = old_bot(
                    served.url, "client0", first if drops else lambda m: None, 1 if drops else None
                )
                return (await asyncio.gather(leaving, old_watch_when(served)))[1]

    seen = run(play)
    assert stages(seen).count("gameOver") == 2
    assert seen[-1]["victoryNum"] == [0, 2, 0, 2]
    faults = [record["fault"] for record in read_records(path)]
    assert [fault["seat"] for fault in faults if fault] == [0, 0]


def test_a_dropped_bot_comes_back_to_its_seat():
    async def play():
        async with serving(terms(SHORT, Limits(wait=0.3, return_within=60))) as served:
            before = await old_bot(served.url, "client0", first, leave_after=3)
            # Somebody else of another name does not get the seat.
            after = await old_bot(served.url, "client0")
            return before, after, served.games._opened

    before, after, opened = run(play)
    assert opened == 1
    assert after[0]["stage"] == "beginning"
    assert after[0]["myPos"] == before[0]["myPos"]
    assert after[0]["handCards"] == before[0]["handCards"]
    # It is told again all that was played in this deal.
    told = [m for m in before if m["type"] == "notify"]
    assert [m for m in after if m["type"] == "notify"][: len(told)] == told
    assert stages(after)[-1] == "gameResult"


def test_an_openguandan_user_comes_back_by_joining_again():
    async def play():
        async with serving(terms(SHORT, Limits(wait=0.3, return_within=60))) as served:
            async with connect(served.url, proxy=None) as connection:
                await say(connection, "CREATE_ROOM", userId=7, round=1, seatNum=3)
                while json.loads(await connection.recv())["type"] != "act":
                    pass
            async with connect(served.url, proxy=None) as connection:
                while True:
                    back = await say(connection, "JOIN_ROOM", userId=7, roomId=1, seatNum=3)
                    if back["code"] == 200:
                        break
                return await play_open(connection, 1)

    heard = run(play)
    assert heard[0]["myPos"] == 3
    assert heard[-1]["stage"] == "gameResult"


def test_many_rooms_at_once():
    async def play():
        async with serving(terms(open_seats=(0,), limits=Limits(wait=30))) as served:
            return await asyncio.gather(*(old_bot(served.url, "client0") for _ in range(8)))

    heard = run(play)
    assert all(messages[-1]["stage"] == "gameResult" for messages in heard)
    assert len({tuple(messages[0]["handCards"]) for messages in heard}) == 8


def test_a_name_sits_once_in_a_waiting_room():
    async def play():
        async with serving(terms(limits=Limits(wait=30))) as served:
            waiting = asyncio.create_task(old_bot(served.url, "client0"))
            while not served.games.rooms:
                await asyncio.sleep(0.01)
            heard = await old_bot(served.url, "client0")
            waiting.cancel()
            return heard

    assert "name client0 is taken" in run(play)[0]["message"]


def test_rooms_are_listed_and_pages_of_other_sites_kept_out():
    async def play():
        async with serving(terms(limits=Limits(wait=30))) as served:
            async with connect(f"{served.url}/game/client0", proxy=None):
                while not served.games.rooms:
                    await asyncio.sleep(0.01)
                address = f"http://127.0.0.1:{served.port}/rooms"
                page = await asyncio.to_thread(lambda: urllib.request.urlopen(address).read())
            for origin in ("https://elsewhere.example", "null", "http://["):
                with pytest.raises(InvalidStatus):
                    await connect(served.url, origin=origin, proxy=None)
            # A stranger's name that leads to this machine is a stranger's name all the same.
            assert not served.games._is_own("http://elsewhere.example:1", "elsewhere.example:1")
            async with connect(served.url, origin=served.url, proxy=None):
                return json.loads(page)

    rooms = run(play)
    assert rooms == [{"roomId": 1, "form": "old", "running": False, "free": [1, 2, 3]}]


# ---------------------------------------------------------------------- guandan join


@pytest.mark.parametrize("form", ["old", "open"])
def test_agents_join_in_both_forms(form):
    async def play():
        async with serving(terms(SHORT)) as served:
            url = f"{served.url}/game/me" if form == "old" else served.url
            player = Player(url, make("planner"), SHORT, place=Place(seat=2))
            return await asyncio.to_thread(player.play)

    result = run(play)
    assert result["stage"] == "gameResult"
    assert ("victoryNum" in result) == (form == "old")


def test_join_takes_a_seat_in_a_room_that_waits():
    async def play():
        async with serving(terms(limits=Limits(wait=30), open_seats=(0, 1))) as served:
            one = Player(served.url, make("greedy"), ONE_DEAL, place=Place(user="one"))
            first_player = asyncio.create_task(asyncio.to_thread(one.play))
            while not served.games.rooms:
                await asyncio.sleep(0.01)
            two = Player(served.url, make("random"), ONE_DEAL, place=Place(user="two", room=1))
            second = await asyncio.to_thread(two.play)
            return await first_player, second

    one, two = run(play)
    assert one == two


def test_join_says_why_it_cannot():
    with pytest.raises(JoinError, match="no address"):
        Player("http://localhost/game/me", make("greedy"), ONE_DEAL)
    player = Player("ws://127.0.0.1:9/game/me", make("greedy"), ONE_DEAL)
    with pytest.raises(JoinError, match=r"127\.0\.0\.1:9"):
        player.play()

    async def play():
        async with serving(terms()) as served:
            player = Player(served.url, make("greedy"), ONE_DEAL, place=Place(room=77))
            await asyncio.to_thread(player.play)

    with pytest.raises(JoinError, match="no room 77"):
        run(play)


# ---------------------------------------------------------------------- the command line


def test_rules_that_the_messages_cannot_ask_are_refused():
    for name in ("standard", "casual"):
        with pytest.raises(GuandanError, match="no message"):
            Terms(RuleSet.preset(name), seed=0)
    assert GameServer(terms()).rooms == {}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--seats", "0,0"], "different seats"),
        (["--seats", "4"], "different seats"),
        (["--move-time", "0"], "move-time"),
        (["--wait", "nan"], "wait"),
        (["--games", "0"], "games"),
        (["--port", "70000"], "port"),
        (["--agent", "nobody"], "unknown agent"),
        (["--rules", "standard"], "no message"),
        (["--host", "203.0.113.1"], "cannot listen"),
    ],
)  # fmt: skip
def test_what_cannot_be_served(words, why):
    with pytest.raises(GuandanError, match=why):
        serve_main(["--port", "0", *words])
