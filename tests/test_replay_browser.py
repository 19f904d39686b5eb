"""The replay page in a real browser, opened from a file and without network.

Without Chromium the tests are skipped; with `GUANDAN_REQUIRE_BROWSER=1` in the environment, as in
CI, they fail instead.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from agents.greedy import Greedy
from eval.duplicate import Terms, play_pairs
from guandan_env.record_replay import replay
from guandan_env.replay_html import replay_page
from guandan_env.rules import RuleSet
from guandan_env.scene_of import scene_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
HOSTILE = "<img src=x onerror=document.title='owned'>"


def records() -> list[dict]:
    terms = Terms(rules=RuleSet.preset("default"), record=True, seed=11)
    parts = play_pairs(Greedy(), Greedy(), 0, 12, terms).records
    told = json.loads(json.dumps([part[0] for part in parts]))
    told[0]["players"][1] = HOSTILE
    told[0]["moves"][3]["choices"] = [
        {"claim": told[0]["moves"][3]["claim"], "value": 0.75},
        {"claim": HOSTILE, "value": -1},
    ]
    return told


RECORDS = records()


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        missing = "Chromium is not installed: the replay page was not tested in a browser"
        if os.environ.get("GUANDAN_REQUIRE_BROWSER") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        # Its sandbox needs what containers, as those of CI, do not allow.
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "replay.html"
    path.write_text(replay_page(enumerate(RECORDS, start=1)), encoding="utf-8")
    return path


@pytest.fixture
def page(browser, file, request):
    """The page at its beginning; what it complains of, or asks the network for, fails the test."""
    context = browser.new_context(viewport=getattr(request, "param", DESKTOP), offline=True)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("request", lambda asked: complaints.append(asked.url))
    opened.goto(file.as_uri())
    yield opened
    context.close()
    assert {text.partition("#")[0] for text in complaints} == {file.as_uri()}


def cards(page: Page, seat: int) -> list[str]:
    return page.eval_on_selector_all(
        f'.seat[data-seat="{seat}"] .card', "all => all.map(card => card.dataset.card)"
    )


def at(page: Page) -> int:
    return int(page.evaluate("document.body.dataset.move"))


def test_it_shows_the_hands_of_every_moment(page):
    for number, engine in enumerate(replay(RECORDS[0])):
        scene = scene_of(engine.state, 0)
        assert at(page) == number
        for view in scene.seats:
            assert sorted(cards(page, view.seat)) == sorted(view.cards or ())
        assert page.locator(".seat.turn").count() == (number < len(RECORDS[0]["moves"]))
        if number:
            move = RECORDS[0]["moves"][number - 1]
            if move["move"] == "play":
                assert page.locator(".spot.now .claim").inner_text() == move["claim"]
                shown = page.eval_on_selector_all(
                    ".spot.now .card", "all => all.map(card => card.dataset.card)"
                )
                assert sorted(shown) == sorted(move["cards"].split())
        page.keyboard.press("ArrowRight")
    assert "Finished: 1st" in page.locator("#status").inner_text()


def test_keys_and_buttons_step(page):
    last = len(RECORDS[0]["moves"])
    for press, expected in (
        ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", last), ("Home", 0),
        ("ArrowLeft", 0),
    ):  # fmt: skip
        page.keyboard.press(press)
        assert at(page) == expected
    for button, expected in (("next", 1), ("next", 2), ("back", 1), ("last", last), ("first", 0)):
        page.click(f"#{button}")
        assert at(page) == expected
    page.click("#next")
    page.keyboard.press("Space")  # the button has the focus, and is pressed once more
    assert at(page) == 2
    page.click("#log li:nth-child(9)")
    assert at(page) == 9


def test_it_plays_on_its_own(page):
    last = len(RECORDS[0]["moves"])
    page.evaluate(f"open(1, {last - 3})")
    page.select_option("#pace", "350")
    page.click("#play")
    page.wait_for_selector(f'body[data-move="{last}"]', state="attached")
    assert page.locator("#play").inner_text() == "▶▶"  # it stopped at the end
    page.keyboard.press("Home")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Space")
    assert page.locator("#play").inner_text() == "❚❚"
    page.keyboard.press("Space")
    assert page.locator("#play").inner_text() == "▶▶"


def test_another_deal_and_a_link_to_a_move(page, file):
    page.select_option("#deals", "3")
    assert at(page) == 0
    assert sorted(cards(page, 0)) == sorted(RECORDS[2]["start"]["hands"][0].split())
    page.goto("about:blank")
    page.goto(file.as_uri() + "#2.5")
    assert at(page) == 5
    assert page.locator("#deals").input_value() == "2"


def test_wilds_are_shown_as_what_they_stand_for(page):
    found = 0
    for number, told in enumerate(RECORDS, start=1):
        wild = "H" + told["start"]["level"]
        for place, move in enumerate(told["moves"], start=1):
            if " as " not in move.get("claim", ""):
                continue
            page.evaluate(f"open({number}, {place})")
            shown = page.locator(f'.spot.now .card.wild[data-card="{wild}"] .as')
            assert shown.count() == move["cards"].split().count(wild)
            assert all(text.startswith("=") for text in shown.all_inner_texts())
            found += 1
    assert found


def test_tribute_and_levels_are_told(page):
    number, told = next(
        (n, t) for n, t in enumerate(RECORDS, start=1) if t["moves"][0]["move"] == "pay"
    )
    page.evaluate(f"open({number}, 1)")
    move = told["moves"][0]
    assert f"pays {move['cards']} to seat {move['to']}" in page.locator("#status").inner_text()
    score = page.locator("#score").inner_text()
    assert f"level {told['start']['level']}" in score
    assert page.locator("#score .declarer").count() == 1


def test_choices_and_hostile_names_are_texts(page):
    page.evaluate("open(1, 3)")
    lines = page.locator("#choices div").all_inner_texts()
    assert [line.split("\n")[-1] for line in lines] == ["0.750", "-1.000"]
    assert HOSTILE in lines[1]
    assert page.locator('.seat[data-seat="1"] .name').inner_text() == HOSTILE
    assert page.locator("img").count() == 0
    assert page.title() == "Guandan replay"


@pytest.mark.parametrize("page", [PHONE, {"width": 320, "height": 568}], indirect=True)
def test_a_phone_shows_it_without_scrolling_sideways(page):
    for number in (1, 2, 5):
        page.evaluate(f"open({number}, 20)")
        width, inner = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width <= inner
        box = page.locator("#next").bounding_box()
        assert box is not None
        assert box["width"] >= 40
        assert box["height"] >= 40
        assert box["y"] + box["height"] <= page.viewport_size["height"]
