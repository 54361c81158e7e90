"""One connection, as a machine without sockets: what comes in, what is answered, what goes on to the loop, and when it
is closed. A client without the token gets no data; one connection at a time has the controls, the others look."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import ModelError
from ..view.access_control import same
from .messages import LONGEST, READS, Catalogue, answer, decode, identity, parse, refusal

STEADY, BURST = 500.0, 500.0  # messages per second, and at once
STRIKES = 20  # refusals in a row, of messages that make no sense, before it is closed
GREETING = 10.0  # s to give the token, from the first byte of a connection to the last
MOST_GUESTS, OF_ONE_PEER = 32, 16  # connections that have not given it
STREAM = 30.0  # states per second by default


class Outcome(NamedTuple):
    replies: list[dict[str, Any]]
    forward: dict[str, Any] | None = None  # to the loop
    close: bool = False


class Controls:
    """Who has the controls: one at a time."""

    def __init__(self) -> None:
        self.holder: str | None = None
        self.reported: dict[str, Callable[[str], None]] = {}  # who wants to hear that they were taken

    def take(self, who: str) -> None:
        """If no other client has them."""
        if self.holder not in (None, who):
            raise ModelError("the controls are taken", got=f"by {self.holder}", hint="look on until they are released")
        self.holder = who

    def take_over(self, who: str) -> None:
        """From the client that has them."""
        before, self.holder = self.holder, who
        if before not in (None, who) and before in self.reported:
            self.reported[before](who)

    def release(self, who: str) -> None:
        if self.holder == who:
            self.holder = None


class Guest(NamedTuple):
    """A connection that has not given the token yet."""

    peer: str  # the address that it comes from
    until: float  # s of the clock, for the greeting
    drop: Callable[[], None]


class Guests:
    """Those that have not greeted yet: few at a time, and fewer of one peer. The oldest makes room for a newcomer."""

    def __init__(self) -> None:
        self.waiting: dict[Any, Guest] = {}  # the oldest first

    def enter(self, who: Any, peer: str, drop: Callable[[], None], now: float) -> Guest:
        of_peer = [other for other, guest in self.waiting.items() if guest.peer == peer]
        if len(of_peer) >= OF_ONE_PEER or len(self.waiting) >= MOST_GUESTS:
            self.waiting.pop(of_peer[0] if len(of_peer) >= OF_ONE_PEER else next(iter(self.waiting))).drop()
        guest = self.waiting[who] = Guest(peer, now + GREETING, drop)
        return guest

    def leave(self, who: Any) -> None:
        self.waiting.pop(who, None)


class Session:
    """``stream`` is how many states per second it wants, 0 for none."""

    def __init__(
        self,
        who: str,
        token: str,
        controls: Controls,
        catalogue: Catalogue,
        about: dict[str, Any],
        now: float,
        full: Callable[[], bool] = lambda: False,
    ) -> None:
        self.who, self.token, self.controls, self.catalogue, self.about = who, token, controls, catalogue, about
        self.full = full  # whether there is no room for one more that has greeted
        self.greeted, self.over, self.stream = False, False, 0.0
        self.strikes, self.left, self.at = 0, BURST, now

    def receive(self, data: bytes | str, now: float) -> Outcome:
        """A message at a time (s) of any steady clock."""
        self.left = min(BURST, self.left + (now - self.at) * STEADY)
        self.at = now
        self.left -= 1.0
        if self.left < 0.0:
            return self._strike(ModelError("too many messages", expected=f"at most {STEADY:g} a second"), None, None)
        if len(data) > LONGEST:
            error = ModelError("the message is too long", expected=f"at most {LONGEST} bytes")
            return Outcome([refusal(error)], None, True)
        if not data.strip():  # keeps a connection alive, and counts as a message
            return Outcome([])
        message: Any = None
        try:
            message = decode(data)
            command = parse(message, self.catalogue)
        except ModelError as e:
            if not self.greeted:
                return Outcome([refusal(e)], None, True)
            do = message.get("do") if isinstance(message, dict) else None
            return self._strike(e, do, identity(message))
        self.strikes = 0
        try:
            return self._act(command.do, command.given, command.id, message)
        except ModelError as e:
            return Outcome([refusal(e, command.do, command.id)], None, not self.greeted)

    def _act(self, do: str, given: dict[str, Any], id_: Any, message: dict[str, Any]) -> Outcome:
        if not self.greeted and do != "hello":
            raise ModelError("say hello first", expected='{"do": "hello", "token": ...}', got=f"'{do}'")
        match do:
            case "hello":
                if not same(given["token"] or "", self.token):
                    self.greeted = False
                    raise ModelError("the token is wrong", hint="it is printed when the run begins")
                if not self.greeted and self.full():
                    raise ModelError("there are too many connections", hint="close one of them")
                self.greeted = True
                self.stream = STREAM if given["stream"] is None else given["stream"]
                if given["name"]:
                    self.who = f"{given['name']} ({self.who})"
                return Outcome([answer(do, id_, True, you=self.who, **self.about)])
            case "stream":
                self.stream = given["rate"]
            case "describe":
                return Outcome([answer(do, id_, True, **self.about)])
            case "control":
                self.controls.take(self.who)
            case "release_control":
                self.controls.release(self.who)
            case _:
                if do not in READS:
                    self.controls.take(self.who)
                return Outcome([], message)
        return Outcome([answer(do, id_, True)])

    def _strike(self, error: ModelError, do: Any, id_: Any) -> Outcome:
        self.strikes += 1
        return Outcome([refusal(error, do, id_)], None, self.strikes >= STRIKES or not self.greeted)

    def end(self) -> None:
        self.controls.release(self.who)
