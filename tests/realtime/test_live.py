"""Real time: the loop against simulate, its clock, commands and refusals, the port by real sockets."""

import asyncio
import contextlib
import json
import math
import socket
import time
from types import SimpleNamespace
from unittest import mock

import numba
import numpy as np
import pytest

import whippletree as wt
from live_client import Client, going
from live_model import carts
from waiting import eventually
from whippletree.realtime import messages, session
from whippletree.realtime.inputs import quintic
from whippletree.realtime.memory import SCALE, TIME, Memory
from whippletree.realtime.pace import EDGES, Lateness, Pacer
from whippletree.realtime.port import MOST_CONNECTIONS, Port


@pytest.fixture(scope="module")
def system():
    return carts()


@pytest.fixture(scope="module")
def catalogue(system):
    return messages.Catalogue(system)


def fast(system, until=0.5, **options):
    return wt.live(system, until=until, **{"realtime": False, "integrator": "rk4"} | options)


# ---------------------------------------------------------------- the loop


def test_a_run_without_commands_is_that_of_simulate(system):
    u = {"siding": -0.4}
    run = fast(system, 2.2, u=u)
    ref = wt.simulate(system, 2.2, u=u, integrator="rk4", step=1e-3, output_step=0.01)
    assert [c.what for c in run.result.changes] == ["activated"]  # the wagon reaches the hook at 2 s
    assert run.result.changes[0].t == pytest.approx(ref.changes[0].t, abs=1e-12)
    # times are multiples of the step here and sums of rows there: they differ by rounding
    np.testing.assert_allclose(run.result.t, ref.t, atol=1e-13)
    np.testing.assert_allclose(run.result.q, ref.q, atol=1e-12)
    np.testing.assert_allclose(run.result.u, ref.u, atol=1e-12)


def test_a_motor_that_is_commanded_moves_as_one_that_was_reported_before(system):
    model = carts().model
    model.forces["drive"].position = wt.Step(after=0.3, start=0.1, rise=0.2)
    model.forces["turn"].position = wt.Step(after=1.0, start=0.2, rise=0.25)
    ref = wt.simulate(model.compile(), 0.5, integrator="rk4", step=1e-3, output_step=0.01)
    run = fast(system, commands=[
        (0.1, {"do": "motor", "name": "drive", "position": 0.3, "rise": 0.2}),
        (0.2, {"do": "motion", "name": "turn", "position": 1.0, "rise": 0.25}),
    ])  # fmt: skip
    assert all(a["ok"] for a in run.answers)
    np.testing.assert_allclose(run.result.q, ref.q, atol=1e-12)  # rounding of the polynomial of the rise
    np.testing.assert_allclose(run.result.u, ref.u, atol=1e-11)
    np.testing.assert_allclose(run.result["track.udot"], ref["track.udot"], atol=1e-9)
    assert np.abs(run.result["energy.balance"]).max() < 1e-6  # of the method at this step, of 2 J


def test_motions_change_without_a_jump():
    c = np.polynomial.Polynomial(quintic((0.3, -1.0, 2.0), 1.5, 0.4))
    assert [c(0.0), c.deriv()(0.0), c.deriv(2)(0.0)] == pytest.approx([0.3, -1.0, 2.0])
    assert [c(0.4), c.deriv()(0.4), c.deriv(2)(0.4)] == pytest.approx([1.5, 0.0, 0.0], abs=1e-10)


def test_forces_and_wrenches_do_what_they_should(system):
    push = {"do": "wrench", "body": "wagon", "force": [6.0, 0, 0]}
    run = fast(system, 1.0, commands=[(0.0, push), (0.5, {"do": "wrench", "body": "wagon"})])
    # 6 N on 3 kg for half a second, then nothing
    assert run.result["siding.u"][-1] == pytest.approx(1.0, rel=1e-12)
    assert run.result["siding.q"][-1] == pytest.approx(0.75, rel=1e-12)
    assert run.result["siding.udot"][20] == pytest.approx(2.0)
    force = fast(system, 1.0, commands=[(0.0, {"do": "force", "joint": "siding", "values": [3.0]})])
    assert force.result["siding.q"][-1] == pytest.approx(0.5, rel=1e-12)
    pull = fast(system, 3.0, commands=[(0.0, {"do": "pull", "body": "wagon", "to": [1.5, 0.0, 0.0]})])
    assert pull.result["siding.q"][-1] == pytest.approx(0.5, abs=1e-4)  # critically damped, 4 rad/s
    assert np.abs(pull.result["energy.balance"]).max() < 1e-9
    most = [(0.0, {"do": "wrench", "body": b, "force": [1, 0, 0]}) for b in ("engine", "wagon", "wheel")]
    assert all(a["ok"] for a in fast(system, 0.01, commands=most).answers)


def test_latches_by_command(system):
    def command(t, do, name="hook"):
        return t, {"do": do, "name": name}

    q, u = {"siding": -0.9}, {"siding": 0.6}
    # near at the start: the condition makes it when it is crossed, and a command at any time
    run = fast(system, q=q, u=u, commands=[command(0.05, "activate"), command(0.3, "release"), command(0.4, "release")])
    made, broken, again = run.answers
    assert made["ok"]
    assert made["held"] == ["hook"]
    assert broken["ok"]
    assert not again["ok"]
    assert "already" in again["error"]["what"]
    assert [(c.what, c.t) for c in run.result.changes] == [("activated", 0.05), ("released", 0.3)]
    # 2 and 3 kg, one at rest: 1.2 kg * 0.6 m/s, and half of that times 0.6 m/s is lost
    assert made["impulse"][3] == pytest.approx(-0.72, rel=1e-9)
    assert made["lost"] == pytest.approx(0.216, rel=1e-9)
    assert np.abs(run.result["energy.balance"]).max() < 1e-7


def test_what_cannot_be_made_is_refused_and_changes_nothing(system):
    far = fast(system, commands=[(0.1, {"do": "activate", "name": "hook"})])
    assert "out of reach" in far.answers[0]["error"]["what"]
    assert "1 m or rad away" in far.answers[0]["error"]["got"]
    near = {"siding": -0.9}
    both = [(0.1, {"do": "activate", "name": "hook"}), (0.2, {"do": "activate", "name": "clamp"})]
    run, ref = fast(system, q=near, commands=both), fast(system, q=near, commands=both[:1])
    assert run.answers[0]["ok"]
    assert not run.answers[1]["ok"]
    assert "clamp" in run.answers[1]["error"]["what"]
    assert "hook" in run.answers[1]["error"]["got"] or "open" in run.answers[1]["error"]["got"]
    np.testing.assert_allclose(run.result.q, ref.result.q, atol=1e-12)  # projection leaves rounding


def test_pause_step_reset(system):
    run = fast(system, 0.3, commands=[(0.1, {"do": "motor", "name": "drive", "position": 1.0}), (0.2, {"do": "reset"})])
    assert run.answers[1]["ok"]
    assert run.result.t[0] == 0.0
    assert np.abs(run.result["track.q"]).max() == 0.0  # as the model has it
    stepped = fast(system, 0.05, commands=[(0.01, {"do": "step"}), (0.01, {"do": "time_scale", "value": 2.0})])
    assert "not paused" in stepped.answers[0]["error"]["what"]
    assert "no time scale" in stepped.answers[1]["error"]["what"]


def test_a_long_run_keeps_the_last_rows(system):
    run = fast(
        system, 3.0, rows=50, output_step=0.02, commands=[(0.5, {"do": "motor", "name": "drive", "torque": 1.0})]
    )
    assert run.result.t.size == 50
    np.testing.assert_allclose(run.result.t, 3.0 - 0.02 * np.arange(49, -1, -1), atol=1e-12)
    assert json.loads(run.result.attrs["commands"])[0][1]["torque"] == 1.0


# ---------------------------------------------------------------- controllers


def returned(t, q, u):
    return np.array([0.0, 3.0 * math.cos(t), 0.0])


@numba.njit
def written(t, q, u, tau):
    tau[1] = 3.0 * math.cos(t)


def test_controllers(system):
    ref = wt.simulate(system, 0.4, tau=written, integrator="rk4", step=1e-3, output_step=0.01)
    compiled = fast(system, 0.4, controller=written)
    np.testing.assert_allclose(compiled.result.q, ref.q, atol=1e-12)
    asked = []

    def counted(t, q, u):
        asked.append(t)
        return returned(t, q, u)

    sampled = fast(system, 0.4, controller=counted, every=4)
    np.testing.assert_allclose(asked, np.arange(100) * 4e-3, atol=1e-12)
    # held for 4 ms: half a sample late
    assert np.abs(sampled.result.q - ref.q).max() < 3.0 / 3.0 * 0.4 * 4e-3
    with pytest.raises(wt.SimulationError, match="the controller 'broken' raised") as e:
        fast(system, 0.4, controller=broken)
    assert e.value.partial.t[-1] == pytest.approx(0.1, abs=0.011)


def broken(t, q, u):
    if t > 0.1:
        raise ZeroDivisionError("no")


# ---------------------------------------------------------------- the clock


def test_lateness_is_counted():
    late = Lateness(1e-3)
    assert late.note(5e-4, 1e-3) == 0.0
    assert late.note(3e-3, 1e-3) == pytest.approx(2e-3)
    reported = late.report()
    assert reported["on_time"] == 0.5
    assert reported["worst_lateness"] == pytest.approx(2e-3)
    assert reported["longest_step"] == 3e-3
    assert reported["histogram"]["2 to 5 ms"] == 1
    assert len(reported["histogram"]) == len(EDGES) - 1


@pytest.mark.parametrize(("overrun", "slips"), [("slow", 0.03), ("catch up", 0.0)])
def test_overruns(overrun, slips):
    pacer = Pacer(0.01, 1.0, overrun)
    pacer.begin()
    first = pacer.due
    pacer.wait()
    time.sleep(0.04)  # four periods for one step
    assert pacer.done()
    assert pacer.lateness.slipped >= slips
    assert pacer.due - first == pytest.approx(0.01 + pacer.lateness.slipped, abs=1e-9)
    pacer.rescale(2.0)
    assert pacer.period == 0.005


def test_a_late_step_may_end_the_run(system):
    def slow(t, q, u):
        time.sleep(0.03 * (t > 0.05))

    run = wt.live(system, integrator="rk4", rate=100.0, until=1.0, controller=slow, overrun="stop")
    assert run.ended == "late"
    assert run.statistics["late_steps"] == 1


def test_it_keeps_pace_with_the_clock(system):
    run = wt.live(system, integrator="rk4", rate=100.0, until=0.6, time_scale=2.0)
    assert run.statistics["steps"] == 60
    assert sum(run.statistics["histogram"].values()) == 60
    assert 0.29 <= run.statistics["seconds"] <= 0.31 + run.statistics["slipped"] + 0.1


def test_readers_see_whole_states(system):
    memory = Memory(system, 2, 10)
    for n in range(13):
        t = np.array([float(n)])
        memory.keep((t, np.full((1, system.nq), n), np.full((1, system.nu), n), t, np.full((1, system.nu), n)))
    t, q, _, work, _ = memory.recent()
    np.testing.assert_array_equal(t, np.arange(3, 13))
    np.testing.assert_array_equal(q[:, 0], work)
    np.testing.assert_array_equal(memory.latest(4.0)[0], np.arange(8, 13))


# ---------------------------------------------------------------- messages

REFUSED = [
    ("{", "not JSON"),
    ("[1]", "not an object"),
    (b"\xff\xfe", "not text"),
    ('{"do": 3}', "what to do"),
    ('{"do": "dance"}', "not something to do"),
    ('{"do": "motor", "name": "dirve", "position": 1}', "'dirve' is not known"),
    ('{"do": "motor", "name": "drive"}', "nothing is asked"),
    ('{"do": "motor", "name": "drive", "velocity": 1}', "takes no velocity"),
    ('{"do": "motor", "name": "drive", "position": NaN}', "not JSON"),
    ('{"do": "motor", "name": "drive", "position": 1e400}', "out of bounds"),
    ('{"do": "motor", "name": "drive", "position": true}', "not a number"),
    ('{"do": "motor", "name": "drive", "position": 1, "speed": 2}', "does not take 'speed'"),
    ('{"do": "motion", "name": "turn", "position": 1, "rise": 0}', "rise is out of bounds"),
    ('{"do": "motion", "name": "drive", "position": 1}', "'drive' is not known"),
    ('{"do": "force", "joint": "track", "values": [1, 2]}', "wrong shape"),
    ('{"do": "force", "joint": "nowhere", "values": [1]}', "'nowhere' is not known"),
    ('{"do": "wrench", "body": "ground", "force": [1, 0, 0]}', "'ground' is not known"),
    ('{"do": "wrench", "body": "wagon", "force": [1, 0]}', "wrong shape"),
    ('{"do": "pull", "body": "wagon", "to": "there"}', "wrong shape"),
    ('{"do": "activate", "name": ["hook"]}', "not a name"),
    ('{"do": "step", "steps": 0}', "not a count"),
    ('{"do": "time_scale", "value": 0}', "out of bounds"),
    ("[" * 1000, "nested too deep"),
    (" " * (messages.LONGEST + 1), "too long"),
    ('{"do": "' + "x" * 500 + '"}', "not something to do"),
]


@pytest.mark.parametrize(("text", "what"), REFUSED, ids=[w for _, w in REFUSED])
def test_messages_that_are_refused(catalogue, text, what):
    with pytest.raises(wt.ModelError) as e:
        messages.parse(messages.decode(text), catalogue)
    assert what in e.value.what
    assert len(json.dumps(messages.refusal(e.value))) < 1000  # an answer is short, whatever was asked


def test_brackets_in_texts_are_no_depth(catalogue):
    assert messages.decode('{"do": "[[[[[[[[[[\\"[["}')["do"].startswith("[")


def test_sessions(catalogue):
    controls = session.Controls()
    a, b = (session.Session(who, "secret", controls, catalogue, {}, 0.0) for who in "ab")
    assert a.receive('{"do": "pause"}', 0.0).close  # no hello
    wrong = a.receive('{"do": "hello", "token": "guess"}', 0.0)
    assert wrong.close
    assert "token" in wrong.replies[0]["error"]["what"]
    for one in (a, b):
        assert one.receive('{"do": "hello", "token": "secret"}', 0.0).replies[0]["ok"]
    assert a.receive('{"do": "pause"}', 0.0).forward == {"do": "pause"}
    refused = b.receive('{"do": "pause", "id": 5}', 0.0)
    assert refused.forward is None
    assert refused.replies[0]["id"] == 5
    assert "taken" in refused.replies[0]["error"]["what"]
    assert not refused.close
    assert b.receive('{"do": "statistics"}', 0.0).forward
    a.receive('{"do": "release_control"}', 0.0)
    assert b.receive('{"do": "resume"}', 0.0).forward
    reported = []
    controls.reported["b"] = reported.append
    controls.take_over("a")
    assert reported == ["a"]
    assert b.receive(" " * (messages.LONGEST + 1), 1.0).close
    ends = [b.receive("nonsense", 1.0) for _ in range(session.STRIKES)]
    assert [x.close for x in ends] == [False] * (session.STRIKES - 1) + [True]
    flood = [a.receive('{"do": "statistics"}', 2.0) for _ in range(int(session.BURST) + 5)]
    assert "too many" in flood[-1].replies[0]["error"]["what"]


# ---------------------------------------------------------------- the port


@pytest.fixture(scope="module")
def running(system, tmp_path_factory):
    pytest.importorskip("viser", reason="no viser here: it serves the window, and brings what WebSocket needs")
    with going(system, tmp_path_factory.mktemp("live"), q={"siding": -0.9}) as about:
        yield about


def connect(running, **hello):
    client = Client(running["port"], running["token"], **hello)
    return client, client.get()


def test_port_says_what_there_is_and_steers(running):
    client, hello = connect(running, stream=100)
    assert hello["model"] == "two carts"
    assert hello["motors"] == {"drive": ["torque", "position"]}
    assert hello["joints"]["siding"] == {"kind": "prismatic", "q": [1, 2], "u": [1, 2]}
    first = client.get("state")["state"]
    assert client.ask({"do": "motor", "name": "drive", "position": 0.05, "rise": 0.1, "id": "go"})["id"] == "go"
    for _ in range(2000):
        state = client.get("state")["state"]
        if state["q"][0] > 0.01:
            break
    assert state["q"][0] > 0.01
    assert state["t"] > first["t"]
    assert client.ask({"do": "pause"})["ok"]
    before = client.ask({"do": "statistics"})["time"]
    assert client.ask({"do": "step", "steps": 3})["time"] == pytest.approx(before + 3 / 200)
    saved = client.ask({"do": "save"})
    assert saved["ok"]
    loaded = wt.load_result(saved["file"])
    assert loaded.t[-1] == pytest.approx(before, abs=0.06)
    assert json.loads(loaded.attrs["commands"])[0][1]["name"] == "drive"
    assert client.ask({"do": "reset"})["ok"]
    assert client.ask({"do": "resume"})["ok"]
    client.close()


def test_port_refuses_strangers_and_nonsense(running):
    stranger = Client(running["port"], "guess")
    assert "token" in stranger.get()["error"]["what"]
    assert stranger.get() is None  # closed
    client, _ = connect(running)
    assert "not JSON" in client.ask(b'{"do": ')["error"]["what"]
    assert "too deep" in client.ask(b"[" * 5000)["error"]["what"]
    client.send(b"x" * (messages.LONGEST + 10))
    assert "too long" in client.get()["error"]["what"]
    assert client.get() is None


def test_one_writer_at_a_time(running):
    (one, _), (two, _) = connect(running, name="arm"), connect(running)
    assert one.ask({"do": "control"})["ok"]
    refused = two.ask({"do": "pause"})
    assert "arm" in refused["error"]["got"]
    assert two.ask({"do": "statistics"})["ok"]
    one.close()  # and gives them back
    until = time.monotonic() + 10
    while not (ok := two.ask({"do": "control"})["ok"]) and time.monotonic() < until:
        time.sleep(0.05)
    assert ok
    two.close()


def test_who_does_not_read_is_dropped(running):
    lazy = socket.socket()
    lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    lazy.connect(("127.0.0.1", running["port"]))
    hello = {"do": "hello", "token": running["token"], "stream": 0}
    lazy.sendall(json.dumps(hello).encode() + b"\n")
    with contextlib.suppress(OSError):  # answers that nobody reads, until the other side has had enough
        lazy.settimeout(15)
        for _ in range(2000):
            lazy.sendall(b'{"do": "describe"}\n' * 10)
            time.sleep(0.005)
    client, _ = connect(running)
    assert client.ask({"do": "statistics"})["ok"]
    with contextlib.suppress(ConnectionError):
        while lazy.recv(65536):
            pass
    client.close()


def test_an_answer_goes_before_a_state_that_is_due():
    """However late the port is: the answer to a greeting comes first."""
    port = object.__new__(Port)  # has no memory to read a state from
    talk, sent = SimpleNamespace(over=False, greeted=True, stream=50.0), []

    async def send(text):
        sent.append(json.loads(text))
        talk.over = True

    async def speak():
        box = asyncio.Queue()
        box.put_nowait({"ok": True})
        await port._speak(talk, send, box)

    asyncio.run(speak())
    assert sent == [{"ok": True}]


def test_a_state_that_is_due_as_the_greeting_comes_waits_for_its_answer():
    """The time to wait for an answer is up just when the answer is there."""
    port = object.__new__(Port)  # has no memory to read a state from
    talk, sent, box = SimpleNamespace(over=False, greeted=False, stream=1000.0), [], asyncio.Queue()

    async def late(waiting, left):
        waiting.close()
        if not talk.greeted:
            talk.greeted = True
            box.put_nowait({"ok": True})
        raise TimeoutError

    async def send(text):
        sent.append(json.loads(text))
        talk.over = True

    async def speak():
        wait_for = asyncio.wait_for
        with mock.patch("asyncio.wait_for", lambda x, left: wait_for(x, left) if left == 2.0 else late(x, left)):
            await port._speak(talk, send, box)

    asyncio.run(speak())
    assert sent == [{"ok": True}]


def test_silent_connections_make_room(running):
    """More of them than there is room for: who gives the token is served at once, and they go when time is up."""
    crowd = [
        socket.create_connection(("127.0.0.1", running[kind])) for kind in ("port", "websocket") for _ in range(40)
    ]
    client, hello = connect(running)
    assert hello["ok"]
    dropped = eventually(lambda: sum(gone(one) for one in crowd) >= 80 - session.MOST_GUESTS, 5.0)
    assert dropped, "those that came first are still there"
    for one in crowd:
        one.close()
    client.close()


def gone(one):
    one.setblocking(False)
    try:
        return one.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_blank_lines_win_no_time_and_too_many_end_a_connection(running):
    slow = socket.create_connection(("127.0.0.1", running["port"]))
    begun = time.monotonic()
    while not gone(slow) and time.monotonic() - begun < 3 * session.GREETING:
        with contextlib.suppress(OSError):
            slow.send(b"\n")
        time.sleep(0.5)
    assert time.monotonic() - begun < 1.5 * session.GREETING
    for greeted in (False, True):
        fast = connect(running)[0].socket if greeted else socket.create_connection(("127.0.0.1", running["port"]))
        with contextlib.suppress(OSError):
            fast.sendall(b"\n" * 100_000)
            fast.settimeout(5)
            while fast.recv(65536):  # refusals, and then the end
                pass
        assert gone(fast)
        fast.close()


def test_a_token_that_is_no_text_is_refused(running):
    stranger = Client(running["port"], "\ud800")
    assert "token" in stranger.get()["error"]["what"]
    assert stranger.get() is None


def test_half_a_handshake_leaves_no_trace(running, capfd):
    for n in range(150):
        half = socket.create_connection(("127.0.0.1", running["websocket"]))
        half.sendall([b"", b"GET / HTTP/1.1\r\n", b"\0" * 100, b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"][n % 4])
        half.close()
    test_websocket(running)
    assert capfd.readouterr().err == ""


def test_many_may_greet_but_not_all(running):
    friends = [connect(running) for _ in range(MOST_CONNECTIONS)]
    served = [client for client, hello in friends if hello["ok"]]
    assert len(served) >= MOST_CONNECTIONS - 2  # others of this module may not have gone yet
    assert any("too many" in str(connect(running)[1]) for _ in range(3))
    for client, _ in friends:
        client.close()
    assert eventually(lambda: connect(running)[1]["ok"])


def test_websocket(running):
    sync = pytest.importorskip("websockets.sync.client")
    from websockets.exceptions import ConnectionClosed

    with sync.connect(f"ws://127.0.0.1:{running['websocket']}") as line:
        line.send(json.dumps({"do": "hello", "token": running["token"], "stream": 50}))
        found = [json.loads(line.recv(timeout=10)) for _ in range(3)]
        assert found[0]["ok"]
        assert "state" in found[1] or "state" in found[2]
        line.send("x" * (messages.LONGEST + 10))
        with pytest.raises(ConnectionClosed, match="1009"):  # noqa: PT012, too big
            for _ in range(1000):
                line.recv(timeout=10)


# ---------------------------------------------------------------- the user's mistakes


def test_arguments_are_checked(system):
    for options, what in (
        ({"rate": 0.0}, "rate is out of bounds"),
        ({"until": -1.0}, "until must lie after"),
        ({"time_scale": 0.0}, "time_scale is out of bounds"),
        ({"overrun": "hurry"}, "overrun 'hurry' is not known"),
        ({"integrator": "dopri5"}, "integrator 'dopri5' is not known to live runs"),
        ({"every": 0}, "every is not a count"),
        ({"controller": 3}, "controller is not a function"),
        ({"commands": [(0.0, {"do": "motor", "name": "x", "position": 1.0})]}, "'x' is not known"),
    ):
        with pytest.raises(wt.ModelError, match=what):
            wt.live(system, **{"until": 0.1, "realtime": False} | options)


# ---------------------------------------------------------------- the panel


@pytest.fixture
def panel():
    """A window whose motor is reported by the model to go elsewhere, without a run and without a browser."""
    pytest.importorskip("viser", reason="no viser here: it serves the window")
    from whippletree.realtime.window import Window
    from whippletree.view.server import stop

    m = wt.Model("<img src=x onerror=alert(1)>")
    m.body("arm", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.joint("hinge", "revolute", m.ground, "arm")
    m.force("{drive}", "motor", joint="hinge", position=wt.Step(after=-0.8, start=1.0, rise=2.0), kp=9.0, kd=3.0)
    system = m.compile()
    asked, memory = [], Memory(system, 1)
    memory.inputs[:] = math.nan
    options = {"host": "127.0.0.1", "window_port": None, "token": "t", "time_scale": 4.0}
    facts = messages.Catalogue(system), session.Controls()
    with mock.patch.object(Window, "_refresh"):  # it looks when it is told to
        window = Window(system, memory, *facts, lambda message, tell: asked.append(message), options)
    yield window, memory, asked
    stop(window.server)


def test_sliders_and_boxes_show_what_holds(panel):
    window, memory, asked = panel
    assert window.scale.value == "4"
    for t, target in ((0.0, 0.0), (2.0, -0.4), (50.0, -0.8)):
        memory.publish({TIME: t, SCALE: 4.0}, [], [math.nan], memory.q, memory.u)
        window._look(memory.read())
        assert window.sliders[0].value == pytest.approx(target)
    memory.publish({TIME: 50.0, SCALE: 3.0}, [], [math.nan], memory.q, memory.u)
    window._nudge(1, None)
    step = 2 * math.pi / 100
    assert asked[-1]["position"] == pytest.approx(-0.8 + step)  # from where it is, and not from 0
    memory.publish({TIME: 50.0, SCALE: 3.0}, [], [-0.8 + step], memory.q, memory.u)
    window._look(memory.read())
    window._nudge(1, None)
    assert asked[-1]["position"] == pytest.approx(-0.8 + 2 * step)
    assert window.scale.value == "3"


def test_names_stay_text_in_the_panel(panel):
    window, memory, _ = panel
    window.controls.take("<script>alert(1)</script>")
    words = window._words(memory.read())
    assert "<script" not in words
    assert "{" not in words
    assert "<img" not in words
