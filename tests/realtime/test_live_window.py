"""The window of a live run in a real Chromium: sliders, keys, dragging, saving, and several who look."""

import json
import re
import urllib.error
import urllib.request

import numpy as np
import pytest

import whippletree as wt
from chromium import SIZE, Picture, chromium, open_page
from live_client import Client, going
from live_model import carts
from waiting import eventually

pytest.importorskip("viser", reason="no viser here: it serves the window")
ENGINE, WAGON, WHEEL = range(3)


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def running(browser, tmp_path_factory):
    """Two carts a metre apart; the wagon is free to roll. Other machines may look, if they give the token."""
    with going(carts(), tmp_path_factory.mktemp("live"), host="0.0.0.0") as about:
        yield about


@pytest.fixture
def watcher(running):
    client = Client(running["port"], running["token"])
    client.get()
    yield client
    client.close()


@pytest.fixture(scope="module")
def window(running, browser):
    """A browser that stays, since opening one takes longest."""
    return open_page(browser, running["url"])


@pytest.fixture
def page(window, watcher):
    """The window at the start of the run; it gives the controls back."""
    press(window, "Pause")
    assert eventually(lambda: watcher.state()["paused"])
    press(window, "Reset")
    assert eventually(lambda: watcher.state()["t"] == 0.0)
    press(window, "Go on")
    assert eventually(lambda: not watcher.state()["paused"])
    yield window
    press(window, "Release the controls")
    assert eventually(lambda: "controls: free" in text(window))


def press(page, label):
    """A button, as soon as it is there: a click of Playwright's own waits for a picture that stands still."""
    page.get_by_role("button", name=label, exact=True).dispatch_event("click", timeout=60_000)


def text(page):
    return page.evaluate("document.body.innerText")


def test_the_address_has_the_token_and_without_it_nothing_is_reported(running, window):
    assert running["url"].endswith(f"/?token={running['token']}")
    bare = running["url"].partition("/?")[0]
    for wrong in (bare, f"{bare}/?token=guess", f"{bare}/?token="):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(wrong)
    window.goto(bare, wait_until="commit", timeout=60_000)  # it has been let in before
    assert eventually(lambda: Picture(window).painted() > 300)


def test_a_slider_moves_a_joint_and_buttons_latch(page, watcher):
    page.locator("input:visible[inputmode='decimal']").first.fill("0.9", timeout=60_000)  # the motor's
    assert eventually(lambda: watcher.state()["q"][ENGINE] > 0.85), "the slider moves the joint"
    assert eventually(lambda: watcher.state()["held"] == ["hook"]), "the wagon is near enough"
    assert eventually(lambda: abs(watcher.state()["u"][WAGON]) < 1e-3), "they stand, so that it stays near"
    press(page, "Release hook")
    assert eventually(lambda: watcher.state()["held"] == [])
    press(page, "Latch hook")
    assert eventually(lambda: watcher.state()["held"] == ["hook"]), "the button latches"


def test_a_body_that_is_dragged_is_pulled_until_it_is_let_go(page, watcher):
    assert eventually(lambda: Picture(page).place("orange")[2] > 30), "the wagon is not in the picture"
    x, y, _ = Picture(page).place("orange")
    assert watcher.state()["u"][WAGON] == 0.0
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 120, y, steps=4)
    assert eventually(lambda: watcher.state()["q"][WAGON] > 0.1), "it does not follow the pointer"
    assert eventually(lambda: abs(Picture(page).place("orange")[0] - x) > 10), "it is not seen to follow"
    page.mouse.up()
    assert eventually(lambda: _speed_stays(watcher)), "something pulls at it after it was let go"
    assert watcher.state()["q"][ENGINE] == pytest.approx(0.0, abs=1e-9), "the other one is pulled too"


def _speed_stays(watcher):
    """Nothing acts on a cart whose speed is the same a while later: there is neither friction nor gravity."""
    before = watcher.state()
    after = watcher.state()
    while after["t"] < before["t"] + 0.1:
        after = watcher.state()
    return abs(after["u"][WAGON] - before["u"][WAGON]) < 1e-12


def _stands(page):
    """The wagon is where it was half a second ago, in the picture."""
    before = Picture(page).place("orange")
    page.wait_for_timeout(500)
    return before[2] > 30 and np.hypot(*np.subtract(Picture(page).place("orange")[:2], before[:2])) < 0.5


def test_keys_are_a_hand_controller(page, watcher):
    pressed = page.keyboard.press
    page.mouse.click(10, SIZE["height"] - 10)  # on the floor: in a field of the panel keys are text
    for _ in range(10):
        pressed("l")  # a hundredth of the way from one end of the slider to the other, each time
    assert eventually(lambda: watcher.state()["q"][ENGINE] > 0.3), "the first motor moves"
    assert eventually(lambda: np.abs(watcher.state()["u"]).max() < 1e-4), "it comes to rest"
    assert eventually(lambda: _stands(page)), "it is seen to rest"
    seen = Picture(page).place("orange")  # the wheel does not come before it
    pressed("k")
    pressed("j")
    assert eventually(lambda: watcher.state()["q"][WHEEL] < -0.05), "the next one moves back"
    assert np.hypot(*np.subtract(Picture(page).place("orange")[:2], seen[:2])) < 8, "the camera has moved too"
    pressed("Space")
    assert eventually(lambda: watcher.state()["paused"])
    t = watcher.state()["t"]
    pressed("n")
    assert eventually(lambda: watcher.state()["t"] == pytest.approx(t + 1 / 200))
    press(page, "Go on")
    assert eventually(lambda: not watcher.state()["paused"])
    page.get_by_role("button", name="Pause", exact=True).focus()
    pressed("Space")  # once, although a button has the focus that a space would press
    assert eventually(lambda: watcher.state()["paused"])
    assert eventually(lambda: page.get_by_role("button", name="Go on", exact=True).count() == 1)
    pressed("r")
    assert eventually(lambda: watcher.state()["t"] == 0.0)
    pressed("Space")
    assert eventually(lambda: watcher.state()["t"] > 0.0)


def test_save_leaves_a_result(page, watcher, running):
    eventually(lambda: watcher.state()["t"] > 0.3)
    before = set(running["folder"].iterdir())
    press(page, "Save")
    assert eventually(lambda: re.search(r"two_carts-\d+\.nc: \d+ rows", text(page))), "the page says nothing"
    [path] = set(running["folder"].iterdir()) - before
    saved = wt.load_result(path)
    assert saved.t[-1] >= 0.25
    assert saved.system.model.name == "two carts"
    assert [c[1]["do"] for c in json.loads(saved.attrs["commands"])][:1] == ["reset"]


def test_two_browsers_see_the_same_and_one_may_go(page, watcher, running, browser):
    press(page, "Pause")  # what stands still is not drawn again, and leaves the machine to the other
    assert eventually(lambda: watcher.state()["paused"])
    other = open_page(browser, running["url"])
    field, seen = (p.locator("input:visible[inputmode='decimal']").first for p in (page, other))
    field.fill("-1.5", timeout=60_000)
    assert eventually(lambda: float(seen.input_value()) == -1.5), "a command in one shows in the other"
    places = [Picture(p).place("blue")[0] for p in (page, other)]
    press(other, "Go on")
    for p, x in zip((page, other), places, strict=True):
        assert eventually(lambda p=p, x=x: Picture(p).place("blue")[0] < x - 10), "both see the motion"
    x, y, _ = Picture(other).place("orange")
    other.mouse.move(x, y)
    other.mouse.down()
    other.mouse.move(x - 60, y, steps=2)
    assert eventually(lambda: watcher.state()["u"][WAGON] != 0.0)
    other.context.close()
    assert eventually(lambda: _speed_stays(watcher)), "who is gone still pulls"
    assert "controls: the window" in text(page)
    field.fill("0.0")
    assert eventually(lambda: watcher.state()["q"][ENGINE] > -0.1), "the other one still steers"


def test_the_last_browser_that_goes_gives_the_controls_back(window, watcher):
    press(window, "Reset")
    assert eventually(lambda: "controls: the window" in text(window))
    assert not watcher.ask({"do": "control"})["ok"]
    window.context.close()
    assert eventually(lambda: watcher.ask({"do": "control"})["ok"])
