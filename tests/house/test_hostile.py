"""Files, folders and peers that mean harm: each is refused by name, or does nothing. Classes are drawn from a seed."""

import contextlib
import html
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import h5py
import numpy as np
import pytest

import whippletree as wt
from whippletree.cli.progress import Bar
from whippletree.errors import printable
from whippletree.integrate.run.checkpoint import MARK as CHECKPOINT_MARK
from whippletree.realtime.messages import FIELDS, Catalogue
from whippletree.realtime.session import GREETING, MOST_GUESTS, OF_ONE_PEER, Controls, Guests, Session
from whippletree.result.summary import summary
from whippletree.sweeps.python import environment, python, user_paths
from whippletree.sweeps.sweep import MARK as SWEEP_MARK
from whippletree.view.access_control import AccessControl
from whippletree.view.channels import happenings
from whippletree.view.markdown import literal

MODELS = Path(__file__).parents[2] / "models"


# ---------------------------------------------------------------- programs that are started


# names that a program of ours, of Dask or of Python itself imports sooner or later
SHADOWS = ("whippletree", "numpy", "numba", "signal", "pickle", "runpy", "distributed", "multiprocessing", "click")
SHADOWS += ("sitecustomize", "usercustomize", "json", "os", "cupy", "tornado", "viser", "websockets")


TRACE = "import os\nif os.getpid() != {1}:\n    open({0!r}, 'a').write({2!r} + chr(10))\n"


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A current folder full of modules that leave a trace when they are run, as a notebook has it in its path."""
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text(TRACE.format(str(tmp_path / "ran"), os.getpid(), name))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, ""])  # last here, since this process goes on importing
    yield
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()


@pytest.mark.parametrize("place", [{"workers": 1}, {"on": "dask", "workers": 1}], ids=str)
def test_workers_run_nothing_of_the_current_folder(trap, place):
    if "on" in place:
        pytest.importorskip("distributed")
    study = wt.sweep(wt.load(MODELS / "pendulum.toml"), {"q.hinge": [0.1, 0.2]}, 0.1, **place)
    assert study.complete


def test_a_live_run_starts_nothing_of_the_current_folder(trap):
    system = wt.load(MODELS / "pendulum.toml").compile()
    assert wt.live(system, port=0, until=0.05, ready=lambda about: None).ended == "until"


def test_workers_still_find_modules_of_the_user(tmp_path, monkeypatch):
    """A function of a module beside the notebook goes to workers by its name."""
    (tmp_path / "beside_the_notebook.py").write_text("def mass(run):\n    return 1.0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, ""])
    code = "import sys; sys.path += sys.argv[1:]; import beside_the_notebook; print(sys.path[-1])"
    done = subprocess.run(python("-c", code, *user_paths()), env=environment(), capture_output=True, text=True)
    assert done.stdout.strip() == str(tmp_path), done.stderr


def test_every_program_is_started_by_one_function():
    """No other file names the interpreter: it would have to think of the current folder as well."""
    sources = Path(wt.__file__).parent.rglob("*.py")
    naming = {path.name for path in sources if "sys.executable" in path.read_text("utf-8")}
    assert naming == {"python.py"}


# ---------------------------------------------------------------- files of results


SECRET = b"root:secret:0:0\n" * 40


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """The file of a run with an event, and of a sweep with a failure."""
    system = wt.load(MODELS / "pendulum.toml").compile()
    path = tmp_path_factory.mktemp("results") / "run.nc"
    wt.simulate(system, 1.0, q={"hinge": 1.0}, output_step=0.02, events=[wt.Event.parse("hinge.q < 0")]).save(path)
    with h5py.File(path) as file:
        assert len(file["event_name"]) > 0
    return path


def edited(source, target, change):
    shutil.copy(source, target)
    with h5py.File(target, "a") as file:
        change(file)
    return target


def external_storage(file, name, folder):
    (folder / "secret").write_bytes(SECRET)
    kind = "S16" if name == "event_name" else "f8"
    count = len(file[name]) if name in file else 4
    file.pop(name, None)
    size = np.dtype(kind).itemsize * count
    file.create_dataset(name, (count,), kind, external=[(str(folder / "secret"), 0, size)])


def external_link(file, name, folder):
    with h5py.File(folder / "other.h5", "w") as other:
        other["x"] = np.full(51, 7.0)
    file.pop(name, None)
    file[name] = h5py.ExternalLink(str(folder / "other.h5"), "x")


def soft_link(file, name, folder):
    with h5py.File(folder / "other.h5", "w") as other:
        other["x"] = np.full(51, 7.0)
    file.pop(name, None)
    file["way"] = h5py.ExternalLink(str(folder / "other.h5"), "/")
    file[name] = h5py.SoftLink("/way/x")


def virtual(file, name, folder):
    with h5py.File(folder / "other.h5", "w") as other:
        other["x"] = np.full(51, 7.0)
    file.pop(name, None)
    layout = h5py.VirtualLayout((51,), "f8")
    layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "x", (51,))
    file.create_virtual_dataset(name, layout)


def packed_twice(file, name, folder):
    file.pop(name, None)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((1 << 16,))
    plist.set_deflate(9)
    plist.set_deflate(9)
    space = h5py.h5s.create_simple((1 << 16,))
    h5py.h5d.create(file.id, name.encode(), h5py.h5t.IEEE_F64LE, space, plist).write(space, space, np.zeros(1 << 16))


def a_group(file, name, folder):
    file.pop(name, None)
    file.create_group(name)


WAYS_OUT = (external_storage, external_link, soft_link, virtual, packed_twice, a_group)
NAMES = ("event_name", "event_time", "time", "q", "u", "udot", "position", "state", "coordinate", "something_else")


@pytest.mark.parametrize("way", WAYS_OUT, ids=lambda way: way.__name__)
def test_no_dataset_leads_out_of_its_file(result, tmp_path, way):
    system = wt.load(MODELS / "pendulum.toml").compile()
    for name in NAMES:
        path = edited(result, tmp_path / "bad.nc", lambda file, name=name: way(file, name, tmp_path))
        for read in (wt.load_result, wt.Sweep.load):
            with pytest.raises(wt.ModelError, match="damaged or not") as refusal:
                read(path)
            assert "secret" not in str(refusal.value)
        with pytest.raises(wt.ModelError, match="damaged or not"):
            wt.simulate(system, 1.0, q={"hinge": 1.0}, output_step=0.02, output=path, resume=True)


@pytest.mark.parametrize("count", [10**9, 10**7])
@pytest.mark.parametrize("name", ["event_name", "q", "something_else"])
def test_what_is_announced_is_not_reserved(result, tmp_path, name, count):
    """A few bytes that stand for a billion rows, which HDF5 would fill in one by one."""
    kind = h5py.string_dtype() if name == "event_name" else "f8"

    def announce(file):
        file.pop(name, None)
        file.create_dataset(name, (count,), kind, chunks=(min(count, 10**6),), compression="gzip")

    path = edited(result, tmp_path / "bad.nc", announce)
    begun = time.monotonic()
    with pytest.raises(wt.ModelError, match="damaged or not"):
        wt.load_result(path) if name != "something_else" else wt.Sweep.load(path)
    assert time.monotonic() - begun < 5.0


def test_one_long_text_is_not_read_a_thousand_times(result, tmp_path):
    """Rows of texts are references, and all of them may be to the same text."""

    def repeat(file):
        del file["event_name"]
        made = file.create_dataset("event_name", (3000,), h5py.string_dtype())
        made[0] = "x" * 60_000
        repeat.at = made.id.get_offset()

    path = edited(result, tmp_path / "bad.nc", repeat)
    data = bytearray(path.read_bytes())
    one = data[repeat.at : repeat.at + 16]
    data[repeat.at : repeat.at + 3000 * 16] = one * 3000
    path.write_bytes(data)
    with pytest.raises(wt.ModelError, match="texts are longer than the file"):
        wt.load_result(path)


ATTRIBUTES = ("until", "complete", "step", "rtol", "atol", "accepted", "rejected", "evaluations", "algorithm",
              "integrator", "version", "versions", "settings", "changes", "switches", "stopped", "title",
              "stabilization", "state_memo", "whippletree", "checked", "check_worst")  # fmt: skip
VALUES = (0, -1, 1e308, float("nan"), float("inf"), 2**63 - 1, True, "", "x", "null", "[]", "{}", "[1]", "[[]]", "0",
          "NaN", '{"tau": "x"}', '{"tau": [1, 2, 3]}', '{"tau": {}}', '[["hinge", "made", 0, [], 0, null, null, ""]]',
          '[[0, "loop", 5, 5]]', '[[0.5, "<b>", ["a"], ["b"]]]', "[" * 5000, "\ud800", "a\0b", "\x1b[2J", "$\\frac$",
          np.arange(3), np.zeros((0,)), np.array([b"bytes"]), h5py.Empty("f8"), np.float16(2), b"raw")  # fmt: skip


def test_attributes_of_any_kind_end_in_a_report_or_a_refusal(result, tmp_path, monkeypatch):
    """Files in each of which some attributes are others; whatever is loaded can be reported."""
    rng = np.random.default_rng(12)
    monkeypatch.setattr("whippletree.result.report._inline", lambda figure, salt: "")  # not what is tried, and slow
    for drawing in ("draw_panels", "topology_figure", "_energy_figure"):
        monkeypatch.setattr(f"whippletree.result.report.{drawing}", lambda *a, **k: None)
    system = wt.load(MODELS / "pendulum.toml").compile()
    loads = mock.patch("whippletree.result.netcdf.toml.loads", return_value=mock.Mock(compile=lambda: system))
    loaded, refusals, path = 0, [], tmp_path / "bad.nc"
    whole = result.read_bytes()
    for _ in range(300):
        path.write_bytes(whole)
        with h5py.File(path, "a") as file:
            for key in rng.choice(ATTRIBUTES, rng.integers(1, 4), replace=False):
                value = VALUES[rng.integers(len(VALUES))]
                with contextlib.suppress(ValueError, TypeError, UnicodeError):  # what HDF5 cannot hold itself
                    file.attrs[key] = value
        try:
            with loads:
                run = wt.load_result(path)
            run.report(tmp_path / "page.html")
            json.dumps(summary(run))
            repr(run)
            happenings(run)
            loaded += 1
        except wt.ModelError as e:
            refusals.append(str(e))
    assert 15 < loaded < 285
    assert all(printable(text) == text for text in refusals)


# ---------------------------------------------------------------- files beside files


LINKS = (os.symlink, os.link)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.__name__)
def test_no_file_beside_a_result_is_written_through_a_link(tmp_path, link):
    """The names of these files can be guessed: a link there must not reach what it leads to."""
    victim, pendulum = tmp_path / "victim", wt.load(MODELS / "pendulum.toml")
    system, run, sweep = pendulum.compile(), tmp_path / "run.nc", {"parameters": {"q.hinge": [0.1]}, "until": 0.1}
    kept = wt.simulate(system, 0.1)
    marks = [str(os.getpid()), CHECKPOINT_MARK, SWEEP_MARK]
    for beside in (".run.nc.lock", "run.nc.runs", *(f".run.nc.{mark}.part" for mark in marks)):
        victim.write_text("mine")
        link(victim, tmp_path / beside)
        for write in (
            lambda: kept.save(run),
            lambda: wt.simulate(system, 0.1, output=run),
            lambda: wt.sweep(pendulum, output=run, workers=0, **sweep),
            lambda: wt.sweep(pendulum, output=run, workers=0, resume=True, **sweep),
        ):
            with contextlib.suppress(wt.ModelError):
                write()
            run.unlink(missing_ok=True)
        assert victim.read_text() == "mine"
        (tmp_path / beside).unlink(missing_ok=True)


# ---------------------------------------------------------------- packed arrays, pages, names


def test_a_small_archive_does_not_unpack_to_gigabytes(tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, about=np.array("x"), Mff=np.zeros(2**24))  # 128 MB
    assert path.stat().st_size < 2**20
    tracemalloc.start()
    with pytest.raises(wt.ModelError, match="the file is too large"):
        wt.Modes.load(path)
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()


@pytest.mark.parametrize("name", ["__DATA__", "__TITLE__", "</script><script>alert(1)", "__DATA__TITLE__"])
def test_a_title_is_a_title_in_an_animation(tmp_path, name):
    m = wt.Model(name)
    m.body("bob", mass=1.0, inertia=(1, 1, 1))
    m.joint("hinge", "revolute", m.ground, "bob", axis="y")
    system = m.compile()
    wt.Result(system, [0.0, 1.0], np.zeros((2, 1)), np.zeros((2, 1))).animate(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert f"<title>{html.escape(name)}</title>" in page
    assert page.count('"sticks":') == page.count("</script>") == 1


def draw_texts(count, seed):
    """Texts of others: markup, control characters, ends of strings, templates, in any order."""
    rng = np.random.default_rng(seed)
    parts = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "![x](/etc/passwd)", "[a](javascript:x)",
             "{7*7}", "${7*7}", "__DATA__", "__TITLE__", "{title}", "%s", "</title>", "-->", "]]>", "&lt;", "&#60;",
             "**b**", "`code`", "# head", "- item", "|a|b|", "export const x = 1", "import x from 'y'", "$\\frac{1}",
             "\x1b[2J", "\x1b]0;t\x07", "\r", "\n", "\u202e", "\u2028", "\0", "\x9b31m", "\ud800",
             "\\", '"', "'", "=1+1", "é", "名", "a", " "]  # fmt: skip
    for _ in range(count):
        yield "".join(rng.choice(parts, rng.integers(1, 6)))


def test_texts_of_others_are_escaped_wherever_they_are_shown():
    for text in draw_texts(1000, 3):
        shown = literal(text)
        assert not set(shown) & set("<>{}[]()!*_`\\\"'$|-=\n\r\x1b")
        assert html.unescape(shown) == text or not text.isprintable()
        for reported in (printable(text), str(wt.ModelError(text, got=text, where=text, hint=text))):
            assert all(c.isprintable() or c == "\n" for c in reported)


def test_names_of_others_reach_no_terminal_and_no_page_as_they_are(command, tmp_path):
    """Through the command line, in every place of a model file that takes a text."""
    good = (MODELS / "pendulum.toml").read_text("utf-8")
    places = ["pendulum", "rod", "hinge", "revolute", "mass", "gravity", "bodies", "tip", "ground"]
    rng = np.random.default_rng(4)
    refused = 0
    for n, text in enumerate(draw_texts(80, 5)):
        word = json.dumps(text.encode("utf-8", "replace").decode())
        place = rng.choice([p for p in places if p in good])
        bad = re.sub(rf'"{place}"|\b{place}\b', lambda _, word=word: word, good, count=int(rng.integers(1, 4)))
        (tmp_path / "bad.toml").write_text(bad, "utf-8")
        code, out, err = command("explain" if n % 10 == 0 else "check", "bad.toml")
        refused += code == 2
        assert code in (0, 2)
        assert all(c.isprintable() or c == "\n" for c in out + err), (text, out, err)
    assert refused > 40


def test_a_progress_bar_shows_names_as_they_are(monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with Bar("[/red] [link=x]", 1.0) as bar:
        bar.start -= 2.0
        bar(0.5)


# ---------------------------------------------------------------- requests


def draw_values(rng, depth=0):
    """A value as JSON may have it, of any kind."""
    texts = ["hello", "motor", "drive", "\ud800", "x" * 300, "", "\0", "token", "hinge", "<b>"]
    plain = [None, True, 0, -1, 1e308, 1e-320, 2**80, 0.5, *texts]
    kind = rng.integers(4) if depth < 3 else 0
    if kind == 1:
        return [draw_values(rng, depth + 1) for _ in range(rng.integers(4))]
    if kind == 2:
        return {str(rng.choice(texts)): draw_values(rng, depth + 1) for _ in range(rng.integers(4))}
    return plain[rng.integers(len(plain))]


def draw_message(rng):
    """Bytes of a message: what is asked, with fields of any kind, and sometimes broken."""
    do = str(rng.choice([*FIELDS, "journal", "nonsense"]))
    fields = [*FIELDS.get(do, ()), "id", "do", "from", "more"]
    message = {"do": do} | {str(rng.choice(fields)): draw_values(rng) for _ in range(rng.integers(5))}
    data = bytearray(json.dumps(message).encode())
    if rng.random() < 0.3:
        for at in rng.integers(0, len(data), 3):
            data[at] = rng.integers(256)
    return bytes(data[: rng.integers(1, len(data) + 1)]) if rng.random() < 0.2 else bytes(data)


def test_messages_of_any_kind_are_answered_and_steer_nothing_without_the_token():
    m = wt.load(MODELS / "pendulum.toml")
    m.force("drive", "motor", joint="hinge", position=0.0, kp=1.0)
    catalogue, rng = Catalogue(m.compile()), np.random.default_rng(8)
    for n in range(1000):
        controls = Controls()
        session = Session("TCP 1", "secret", controls, catalogue, {}, 0.0)
        if greeted := n % 2 == 0:
            assert session.receive(b'{"do": "hello", "token": "secret"}', 0.0).replies[0]["ok"]
        for _ in range(3):
            outcome = session.receive(draw_message(rng), 0.0)
            assert len(json.dumps(outcome.replies)) < 2000
            assert outcome.replies or outcome.forward
            if not greeted:
                assert not session.greeted
                assert outcome.close
                assert outcome.forward is None
                assert controls.holder is None
                assert not outcome.replies[0]["ok"]


def draw_headers(rng, port):
    names = [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "news.example",
        "127.0.0.1.news.example",
        "0.0.0.0",
        "",
        "[",
        "a b",
        "é",
    ]
    ports = ["", f":{port}", ":1", ":x", ":99999999"]
    cookies = ["", f"whippletree-{port}=guess", "whippletree-80=", f"whippletree-{port}=", "a;b=;;;", '"', "\xff"]
    given = [("Host", str(rng.choice(names)) + str(rng.choice(ports))) for _ in range(rng.choice([0, 1, 1, 1, 2]))]
    given += [("Origin", f"http://{rng.choice(names)}{rng.choice(ports)}")] * int(rng.integers(3))
    given += [("Cookie", str(rng.choice(cookies)))] * int(rng.integers(3))
    return given + [("Upgrade", str(rng.choice(["websocket", "WebSocket", "h2c"])))] * int(rng.integers(3))


@pytest.mark.parametrize("alone", [True, False])
def test_requests_of_any_kind_are_refused_without_the_token(alone):
    datastructures = pytest.importorskip("websockets.datastructures")
    rng, door = np.random.default_rng(9), AccessControl("the page", "the right token", alone)
    door.behind = mock.Mock(side_effect=AssertionError("was let in"))
    paths = [
        "/",
        "/index.html",
        "/?token=",
        "/?token=guess",
        "//[",
        "/../x",
        "/?token=a&token=b",
        "/é",
        "/?" + "a&" * 5000,
    ]
    for _ in range(1000):
        headers = datastructures.Headers(draw_headers(rng, 8080))
        answer = door(None, SimpleNamespace(path=str(rng.choice(paths)), headers=headers))
        assert answer.status_code == 403
        assert b"the page" not in answer.body
    for host, status in (("127.0.0.1:8080", 200), ("news.example:8080", 403 if alone else 200)):
        right = SimpleNamespace(path="/?token=the%20right%20token", headers=datastructures.Headers({"Host": host}))
        assert door(None, right).status_code == status


def test_guests_make_room_for_each_other():
    """However many come, from however many addresses: few wait, few of one address, and each has its time."""
    rng, guests, dropped = np.random.default_rng(10), Guests(), []
    for n in range(1000):
        guest = guests.enter(n, f"10.0.0.{rng.integers(5) ** 2}", lambda n=n: dropped.append(n), float(n))
        assert guest.until == n + GREETING
        assert n in guests.waiting
        assert len(guests.waiting) <= MOST_GUESTS
        peers = [guest.peer for guest in guests.waiting.values()]
        assert max(map(peers.count, peers)) <= OF_ONE_PEER
        if rng.random() < 0.2:
            guests.leave(rng.choice([*guests.waiting]))
    assert len(set(dropped)) == len(dropped)
