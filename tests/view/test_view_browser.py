"""What is seen of a run in a real Chromium: in the window of a server, and in a page that plays alone."""

import socket

import numpy as np
import pytest

from chromium import Picture, chromium, open_page
from view_model import swinging
from waiting import eventually
from whippletree.view import server
from whippletree.view.export import write_page

pytest.importorskip("viser", reason="viser is not installed: pip install 'whippletree[view]'")
from whippletree.view.window import view


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def run():
    return swinging()


def painted(page):
    return Picture(page).painted()


def other(page, seen):
    """How many pixels look different."""
    return int((np.abs(Picture(page).rgb - seen).max(axis=-1) > 60).sum())


def places(page):
    """Where the three bodies are."""
    seen = Picture(page)
    return np.array([seen.place(color)[:2] for color in ("blue", "orange", "green")])


def test_in_chromium_it_is_seen_plays_and_is_scrubbed(browser, run):
    replay = view(run, wait=False, open_browser=False, play=False, say=lambda _: None)
    try:
        assert not replay.scene._sun.cast_shadow, "the first picture is drawn without shadows"
        page = open_page(browser, server.address(replay.server))
        assert eventually(lambda: replay.scene._sun.cast_shadow)
        colors = ("blue", "orange", "green")
        assert eventually(lambda: all(Picture(page).place(color)[2] > 30 for color in colors)), "all three bodies"
        seen, start = Picture(page), places(page)
        for batch in replay.scene.batches:
            batch.handle.visible = False
        assert eventually(lambda: painted(page) < 30), "the empty scene is grey"
        for batch in replay.scene.batches:
            batch.handle.visible = True
        assert eventually(lambda: painted(page) > 300)

        page.get_by_role("button", name="Play").click()
        assert eventually(lambda: replay.playing and replay.time > 0.3)
        assert eventually(lambda: other(page, seen.rgb) > 100), "it does not play"
        page.get_by_role("button", name="Pause").click()
        assert eventually(lambda: not replay.playing)

        page.get_by_role("slider").first.press("Home")
        assert eventually(lambda: replay.time == 0.0)
        assert eventually(lambda: np.abs(places(page) - start).max() < 4.0), "all bodies are back"  # pixels of the page
        page.get_by_role("slider").first.press("End")
        assert eventually(lambda: replay.time == 2.0)
        assert eventually(lambda: other(page, seen.rgb) > 100), "it is not scrubbed"
        page.context.close()
    finally:
        replay.stop()


def test_a_page_is_drawn_and_plays_without_a_server_and_a_network(browser, run, tmp_path):
    write_page(run, tmp_path / "swing.html")
    page = open_page(browser, (tmp_path / "swing.html").as_uri(), offline=True)
    # until viser's reflections are prepared, which takes half a minute, the picture would be almost white
    assert page.evaluate("[...document.querySelectorAll('canvas')].every(c => c.style.opacity !== '0.05')")
    assert eventually(lambda: Picture(page).place("green")[2] > 30), "shapes come one after the other"
    first = Picture(page).place("green")
    assert eventually(lambda: abs(Picture(page).place("green")[0] - first[0]) > 25), "the box does not move"
    page.screenshot(path=tmp_path / "swing.png", timeout=60_000)
    fetched = page.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
    assert not [name for name in fetched if name.startswith(("http", "ws"))]
    page.context.close()


def test_from_elsewhere_only_with_the_token(browser, run):
    replay = view(run, host="0.0.0.0", wait=False, open_browser=False, play=False, say=lambda _: None)
    try:
        url = server.address(replay.server)
        bare, _, token = url.partition("/?token=")
        assert len(token) >= 16
        stranger = browser.new_context().new_page()
        assert stranger.goto(bare, timeout=60_000).status == 403
        assert "asks for a token" in stranger.content()
        stranger.context.close()
        open_page(browser, url).context.close()  # its socket is let in by its cookie
    finally:
        replay.stop()


RIGHT = "whippletree-{port}=right"


@pytest.mark.parametrize(
    ("alone", "headers", "status"),
    [
        (True, {}, 403),  # a program of this machine, perhaps of another user
        (True, {"Cookie": RIGHT}, 101),
        (True, {"Cookie": RIGHT, "Origin": "http://127.0.0.1:{port}"}, 101),
        (True, {"Cookie": RIGHT, "Origin": "http://news.example"}, 403),  # a page from elsewhere, in the same browser
        (True, {"Cookie": RIGHT, "Origin": "http://127.0.0.1:1"}, 403),  # to which cookies of all ports are sent
        (True, {"Cookie": RIGHT, "Host": "localhost:{port}"}, 101),
        (True, {"Cookie": RIGHT, "Host": "[::1]:{port}"}, 101),
        (True, {"Cookie": RIGHT, "Host": "news.example:{port}", "Origin": "http://news.example:{port}"}, 403),
        (True, {"Cookie": RIGHT, "Host": "127.0.0.1.news.example:{port}"}, 403),
        (False, {"Cookie": RIGHT, "Host": "robot.example:{port}"}, 101),
        (False, {}, 403),
        (False, {"Cookie": "whippletree-{port}=wrong"}, 403),
        (False, {"Cookie": f"a=b; {RIGHT}"}, 101),
        (False, {"Cookie": f"{RIGHT}; ;;=\\"}, 101),
    ],
)
def test_whose_socket_is_opened(monkeypatch, alone, headers, status):
    sync = pytest.importorskip("websockets.sync.client")
    from websockets.exceptions import InvalidStatus

    if not alone:
        monkeypatch.setattr("whippletree.view.server.ALONE", ())  # as if it were an address for others
    made = server.serve(token="right")
    server.show(made)
    try:
        port = made.get_port()
        given = {key: value.format(port=port) for key, value in headers.items()}
        try:
            place = socket.create_connection(("127.0.0.1", port))
            name = given.pop("Host", f"127.0.0.1:{port}")
            with sync.connect(f"ws://{name}", sock=place, additional_headers=given) as line:
                found = line.response.status_code
        except InvalidStatus as refused:
            found = refused.response.status_code
        assert found == status
    finally:
        server.stop(made)
