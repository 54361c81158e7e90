"""A live run at 1 kHz while its ports are attacked: ``python tests/support/soak_hostile.py 60 [attacks [seed]]``.

Another process opens so many connections, drawn around what once locked, burnt or entered a port: silent ones, blank
lines at full speed, lines without end, broken and foreign messages without the token and after a guessed one,
half-open WebSockets, requests of foreign hosts. None of them may steer the run or hold up a peer with the token, which
asks all the while; of the steps 99.9 % have to be on time. Another program that keeps both cores busy disturbs that.
"""

import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

MODEL = Path(__file__).resolve().parents[2] / "models" / "space_manipulator.toml"
ON_TIME = 0.999
ANSWER = 5.0  # s that a peer with the token may wait
PATIENCE = 0.5  # s that an attack goes on


def main(seconds=30.0, attacks=1000, seed=0):
    import whippletree as wt

    system = wt.load(MODEL).compile()
    found, begun = {}, threading.Event()

    def ready(about):
        found.update(about)
        begun.set()

    def outside():
        begun.wait()
        ports = [found["port"], found["websocket"], int(found["url"].split(":")[2].split("/")[0])]
        call = [sys.executable, __file__, "--attack", json.dumps(ports), str(attacks), str(seed), str(seconds)]
        attack = subprocess.Popen(call, stdout=subprocess.PIPE)
        found["waits"] = asked(found["port"], found["token"], attack)
        found["counts"] = json.loads(attack.stdout.read())

    beside = threading.Thread(target=outside)
    beside.start()
    served = {"port": 0, "websocket": 0, "viewer": True, "ready": ready}
    run = wt.live(system, rate=1000.0, until=seconds, **served)
    beside.join()
    about, waits = run.statistics, found["waits"]
    print(f"{about['steps']} steps, {about['on_time']:.4%} on time, worst {1e3 * about['worst_lateness']:.2f} ms late")
    print(f"{sum(found['counts'].values())} attacks: {found['counts']}")
    print(f"{len(waits)} questions of a peer with the token, the slowest answered after {max(waits, default=0):.3f} s")
    alone = wt.live(system, rate=1000.0, until=seconds, realtime=False).result
    steered = run.result.attrs["commands"] != alone.attrs["commands"] or (run.result.q[-1] != alone.q[-1]).any()
    print("commands have come through" if steered else "the motion is that of a run without ports, to the last bit")
    return steered or about["on_time"] < ON_TIME or found["counts"].get("let in", 0) > 0 or max(waits) > ANSWER


def asked(port, token, attack):
    """Seconds that a newcomer with the token waits for its hello, again and again while the attack goes on."""
    waits = []
    while attack.poll() is None:
        start = time.monotonic()
        with socket.create_connection(("127.0.0.1", port), timeout=60) as peer:
            peer.sendall(json.dumps({"do": "hello", "token": token, "stream": 0}).encode() + b"\n")
            if not json.loads(peer.makefile("rb").readline()).get("ok", True):
                return [float("inf")]
        waits.append(time.monotonic() - start)
        time.sleep(0.1)
    return waits


def attack(ports, count, seed, seconds):
    """Attacks one after the other, some left open; prints how many of each kind, and how many were let in."""
    rng, counts, kept, end = np.random.default_rng(seed), {}, [], time.monotonic() + seconds - 2.0
    for _ in range(count):
        if time.monotonic() > end:
            break
        kind = ATTACKS[rng.integers(len(ATTACKS))]
        counts[kind.__name__] = counts.get(kind.__name__, 0) + 1
        try:
            peer = socket.create_connection(("127.0.0.1", ports[rng.integers(3)]), timeout=PATIENCE)
            kept = [*kept[-60:], peer]
            kind(peer, rng)
            if b'"ok": true' in received(peer) or b'"ok":true' in received(peer):
                counts["let in"] = counts.get("let in", 0) + 1
        except OSError:  # closed, refused or not answered: what is wanted
            pass
    print(json.dumps(counts))


def received(peer):
    """What has come within a moment."""
    peer.settimeout(0.02)
    try:
        return peer.recv(4096)
    except TimeoutError:
        return b""


def silent(peer, rng):
    """Says nothing and stays."""


def blank_lines(peer, rng):
    end = time.monotonic() + PATIENCE * rng.random()
    while time.monotonic() < end:
        peer.sendall(b"\n" * 4096)


def line_without_end(peer, rng):
    for _ in range(rng.integers(1, 200)):
        peer.sendall(b'{"do": "' + b"x" * 10_000)


def bytes_of_any_kind(peer, rng):
    peer.sendall(rng.bytes(int(rng.integers(1, 5000))) + b"\n")


def messages_without_token(peer, rng):
    for _ in range(rng.integers(1, 20)):
        do = str(rng.choice(["set", "stop", "pause", "reset", "stream", "save", "activate", "release", "journal"]))
        peer.sendall(json.dumps({"do": do, "motor": 1e9, "name": "latch", "value": 5.0}).encode() + b"\n")


def guessed_token(peer, rng):
    token = str(rng.choice(["", "secret", "a" * 300, "\ud800", "00000000"]))
    peer.sendall(json.dumps({"do": "hello", "token": token}).encode() + b"\n" + b'{"do": "stop"}\n')


def half_open_websocket(peer, rng):
    key = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    head = b"GET /?token=guess HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" + key
    peer.sendall(head + (b"\r\n" if rng.random() < 0.5 else b""))


def foreign_host(peer, rng):
    host = str(rng.choice(["news.example", "127.0.0.1.news.example", "[::1]", "x" * 2000]))
    peer.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n\r\n".encode())


def leaves_at_once(peer, rng):
    peer.shutdown(socket.SHUT_RDWR)
    peer.close()


ATTACKS = (silent, blank_lines, line_without_end, bytes_of_any_kind, messages_without_token, guessed_token,
           half_open_websocket, foreign_host, leaves_at_once)  # fmt: skip


if __name__ == "__main__":
    if "--attack" in sys.argv:
        attack(json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
    else:
        sys.exit(main(*(f(x) for f, x in zip((float, int, int), sys.argv[1:], strict=False))))
