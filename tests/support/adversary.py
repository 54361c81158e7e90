"""Systems that are hard on purpose, each from a seed alone, and what every algorithm makes of them.

``draw(seed)`` gives a system of one of CLASSES at a consistent state; ``judge`` compares every algorithm that accepts
it with the reference in extended precision and with the bound that the algorithm states itself. Seeds from ``LATER``
on draw what was added later too: joint kinds, batches with several poses, other calls.
"""

import contextlib
import warnings
from typing import NamedTuple

import numpy as np

import whippletree as wt
from adversary_calls import CALLS, judged_calls
from adversary_classes import LATER as NEWER
from adversary_classes import LAWS, STRUCTURES, any_structure, exchanged
from extended_reference import Undetermined, solve, spread
from sketch import Laws, Sketch
from whippletree.dynamics.auto.choose import able_to_solve
from whippletree.errors import ModelError, SimulationError

EPS = float(np.finfo(float).eps)


class Drawn(NamedTuple):
    kind: str
    system: wt.System
    q: np.ndarray
    u: np.ndarray
    tau: np.ndarray
    wrenches: dict | None = None
    before: str = "at rest"  # the call before, which must not mislead the next
    elsewhere: np.ndarray | None = None  # (k, nq) coordinates of states that share a batch with this one
    calls: bool = False  # whether other calls are judged too

    @property
    def state(self):
        return self[1:5]


BEFORE = ("nothing", "at rest", "fast", "balanced", "in a batch")
BALANCED, PUSHED = 0.15, 0.3  # shares of states near balance, and of those under wrenches
COMBINED = 0.07
LATER = 10_000_000  # seeds below draw what they always drew: some of them were once wrong
CALLED = 0.2  # share of systems whose other calls are judged
LATEST = 40_000_000  # from this seed on, WANDERED of the systems are first called in WALK other poses
WANDERED, WALK = 0.3, 12


def draw(seed):
    """The system of a seed at a consistent state; drawn again where the model is refused."""
    rng, more, later = np.random.default_rng([seed, 6007]), np.random.default_rng([seed, 71]), seed >= LATER
    classes = STRUCTURES | (NEWER if later else {}) | LAWS
    shares = np.array([share for _, share in classes.values()] + [COMBINED])
    kind = str(rng.choice([*classes, "combined"], p=shares / shares.sum()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while True:
            try:
                drawn = _loaded(Drawn(kind, *_drawn(kind, rng, later)), more)
                drawn = _among_others(drawn, np.random.default_rng([seed, 415])) if later else drawn
                wanders = seed >= LATEST and np.random.default_rng([seed, 88]).random() < WANDERED
                return drawn._replace(before="elsewhere", elsewhere=None) if wanders else drawn
            except (ModelError, np.linalg.LinAlgError):
                continue


def _among_others(drawn, rng):
    """The same in a batch with states near and far, some of which take a plan of their own; and with other calls."""
    drawn, others = drawn._replace(calls=rng.random() < CALLED), []
    if drawn.before != "in a batch":
        return drawn
    for _ in range(int(rng.integers(1, 6))):
        with contextlib.suppress(ModelError, SimulationError):
            start = drawn.q + 10.0 ** rng.uniform(-6, 0.5) * rng.normal(size=drawn.q.size)
            others.append(wt.assemble(drawn.system, start).q)
    return drawn._replace(elsewhere=np.array(others) if others else None)


def _loaded(drawn, rng):
    """The same near balance, or under wrenches, after another call."""
    drawn, share = drawn._replace(before=str(rng.choice(BEFORE))), rng.random()
    if drawn.before == "in a batch":
        with contextlib.suppress(ModelError, SimulationError):
            other = wt.assemble(
                drawn.system, drawn.q + 0.3 * np.random.default_rng(drawn.q.size).normal(size=drawn.q.size)
            )
            drawn = drawn._replace(elsewhere=other.q[None])
    if share < BALANCED:
        return drawn._replace(tau=balance(drawn) + 10.0 ** rng.uniform(-12, 0) * rng.normal(size=drawn.tau.shape))
    if share < PUSHED:
        names = rng.choice(drawn.system.bodies, min(2, len(drawn.system.bodies)), replace=False)
        return drawn._replace(wrenches={str(n): 10.0 ** rng.uniform(-3, 3) * rng.normal(size=6) for n in names})
    return drawn


def balance(drawn):
    """Generalized forces that keep the spanning tree from accelerating, up to rounding."""
    return wt.bias_force(*drawn.state[:3])


def _drawn(kind, rng, later):
    laws, structure, structures = Laws(), any_structure, STRUCTURES | (NEWER if later else {})
    if later:
        laws.kind = exchanged
    if kind in structures:
        structure = structures[kind][0]
    elif kind in LAWS:
        LAWS[kind][0](rng, laws)
    else:
        if rng.random() < 0.7:
            structure = structures[str(rng.choice([k for k in structures if k != "contradicting"]))][0]
        for name in rng.choice(list(LAWS), 1 if structure is not any_structure else 2, replace=False):
            LAWS[str(name)][0](rng, laws)
    s = Sketch(rng, laws)
    structure(s)
    if rng.random() < 0.25 and not s.model.constraints and not s.model.forces:
        s.shuffle()
    return s.finish(rest=rng.random() < 0.15)


# ---- what algorithms answer

PLAIN = 1e-9  # error that a plain call promises to stay below
SWIFT = 1e-13  # the same of u^2, where centrifugal terms cancel
LOOSE = 1e3  # times the true error
FLOOR = 8 * EPS  # what the true error is taken as at least, of the largest acceleration and of a tenth of gravity
DROPPED = 10  # times a singular value that is left out, by which it does not matter which equation is
JUDGED = ("right", "loose", "silent", "crash")  # what has a true error
OUTCOMES = ("right", "named error", "ambiguous", "loose", "silent", "crash")


class Outcome(NamedTuple):
    """What one algorithm made of a system: the true relative error, the bound it stated, and what that amounts to."""

    algorithm: str
    outcome: str
    error: float
    bound: float
    note: str = ""


def judge(drawn, algorithms=None):
    """An Outcome for every algorithm that accepts the system, and for "auto"."""
    truth = Truth(drawn)
    names = algorithms or ("auto", *able_to_solve(drawn.system))
    found = [outcome(truth, name) for name in names]
    clear = truth.answer is not None and not (truth.answer.ambiguous or truth.answer.contradicting)
    return found + (list(other_calls(truth)) if drawn.calls and clear else [])


def other_calls(truth):
    """An Outcome for each call but forward dynamics; the bound is what it is allowed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, error, allowed, refused in judged_calls(truth.drawn, truth.answer):
            note = str(refused).splitlines()[0] if refused else ""
            result = "named error" if refused else "right" if error <= allowed else "silent"
            yield Outcome(name, result, error, allowed, note)


class Truth:
    """The reference's answer to a system, and how far the question leaves it open; each is found when needed."""

    def __init__(self, drawn):
        self.drawn, self.open = drawn, None
        try:
            self.answer = solve(*drawn.state, wrenches=drawn.wrenches)
        except Undetermined:
            self.answer = None

    def error(self, udot, nothing=False):
        """Of the nearest fair reading, relative to the largest acceleration; less what dropped equations leave open.

        Relative to gravity where nothing can move, or u' is zero within its error.
        """
        gravity = float(np.linalg.norm(self.drawn.system.model.gravity)) if self.answer.locked or nothing else 0.0
        found = []
        for x, loss in self.answer.readings:
            off = np.abs(udot - x).max(initial=0.0) / max(np.abs(x).max(initial=0.0), gravity, 1e-300)
            found.append(max(float(off) - DROPPED * loss, 0.0))
        return min(found)

    def floor(self):
        """What the true error is taken as at least, relative to the largest acceleration."""
        fall = 0.1 * float(np.linalg.norm(self.drawn.system.model.gravity))
        return FLOOR * max(1.0, fall / max(float(np.abs(self.answer.udot).max(initial=0.0)), 1e-300))

    def beyond(self, udot, components):
        """Whether a component lies beyond its own bound; not tried where the rank is ambiguous."""
        if self.answer.ambiguous:
            return False
        exact = self.answer.udot
        largest = np.abs(exact).max(initial=0.0)
        off = np.abs(udot - exact) - components
        return bool((off > FLOOR * largest).any() and (off > self.spread() * largest).any())

    def spread(self):
        """How far the closure error of the state leaves the answer open, relative."""
        if self.open is None:
            self.open = 10 * spread(*self.drawn.state, wrenches=self.drawn.wrenches)
        return self.open


def outcome(truth, name):
    """What one algorithm makes of the system."""
    try:
        udot, bound, components = answered(truth.drawn, name)
    except (ModelError, SimulationError) as e:
        return Outcome(name, "named error", 0.0, 0.0, str(e).splitlines()[0])
    except Exception as e:  # any other kind is a failure to be shown
        return Outcome(name, "crash", np.inf, 0.0, f"{type(e).__name__}: {e}")
    if truth.answer is None:
        return Outcome(name, "silent", np.inf, bound, "accelerations are not determined")
    if truth.answer.contradicting:
        return Outcome(name, "silent", np.inf, bound, "constraints contradict each other")
    if not np.isfinite(udot).all():
        return Outcome(name, "silent", np.inf, bound, "not finite")
    nothing = components is not None and components.max(initial=0.0) >= np.abs(udot).max(initial=0.0)
    error = truth.error(udot, nothing)
    if error > bound and error > bound + truth.spread():
        return Outcome(name, "ambiguous" if truth.answer.ambiguous else "silent", error, bound)
    if components is not None and truth.beyond(udot, components):
        return Outcome(name, "silent", error, bound, "a component is beyond its own bound")
    if components is not None and bound > LOOSE * max(error, truth.floor()):
        open_question = truth.answer.ambiguous or truth.answer.locked  # a locked mechanism has no error to compare with
        return Outcome(name, "ambiguous" if open_question else "loose", error, bound)
    return Outcome(name, "right", error, bound)


def answered(drawn, name):
    """Accelerations, the bound of their relative error, and those of components; the plain call must agree."""
    given, wrenches = drawn.state, drawn.wrenches
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(ModelError, SimulationError):
            call_before(drawn, name)
    plain = plain_call(drawn, name)
    udot, certificate = wt.forward_dynamics(*given, wrenches=wrenches, algorithm=name, certificate=True)
    largest = np.abs(udot).max(initial=0.0)
    allowed = max(2 * certificate.bound, PLAIN * max(1.0, alone(drawn) / max(largest, 1e-300)))
    allowed = max(allowed, SWIFT * float(np.square(drawn.u).max(initial=0.0)) / max(largest, 1e-300))
    if np.abs(plain - udot).max(initial=0.0) > allowed * largest:
        return plain, allowed, None  # it is judged in place of the other, by its own promise
    return udot, certificate.bound, certificate.error


def plain_call(drawn, name):
    """Accelerations without a certificate; behind other poses in a batch, if there are any."""
    system, q, u, tau = drawn.state
    if drawn.elsewhere is None:
        return wt.forward_dynamics(system, q, u, tau, wrenches=drawn.wrenches, algorithm=name)
    still = np.zeros((len(drawn.elsewhere), system.nu))
    Q, U, T = np.vstack([drawn.elsewhere, q]), np.vstack([still, u]), np.vstack([still, tau])
    try:
        return wt.forward_dynamics(system, Q, U, T, wrenches=drawn.wrenches, algorithm=name)[-1]
    except SimulationError:  # of another pose, perhaps
        return wt.forward_dynamics(system, q, u, tau, wrenches=drawn.wrenches, algorithm=name)


def alone(drawn):
    """The largest acceleration by gravity, by forces, or by the motion alone: a plain call is right relative to it."""
    system, q, u, tau = drawn.state
    least = 0.1 * float(np.linalg.norm(system.model.gravity))
    if np.abs(tau).max(initial=0.0) == 0.0 or drawn.wrenches:
        return least
    with contextlib.suppress(ModelError, SimulationError):
        found = (wt.forward_dynamics(system, q, v, f) for v, f in ((0.0 * u, tau), (u, 0.0 * tau)))
        return max(least, *(float(np.abs(x).max(initial=0.0)) for x in found))
    return least


def call_before(drawn, name):
    """A call with the same system at another state."""
    system, q, u, tau = drawn.state
    if drawn.before == "at rest":
        wt.forward_dynamics(system, q, 0.0 * u, tau, algorithm=name)
    elif drawn.before == "fast":
        wt.forward_dynamics(system, q, 100.0 * u, tau, algorithm=name)
    elif drawn.before == "balanced":
        wt.forward_dynamics(system, q, u, balance(drawn), algorithm=name)
    elif drawn.before == "elsewhere":
        rng = np.random.default_rng(q.size)
        for bend in 10.0 ** rng.uniform(-4, 0.3, WALK):
            with contextlib.suppress(ModelError, SimulationError):
                there = wt.advance(system, q, bend * rng.normal(size=u.size))
                if system.constraints.count:
                    there = wt.assemble(system, there).q
                push = 10.0 ** rng.uniform(-3, 4) * rng.normal(size=u.size)
                wt.forward_dynamics(system, there, 0.0 * u, push, algorithm=name)
    elif drawn.before == "in a batch":
        Q, T = np.tile(q, (3, 1)), np.tile(tau, (3, 1))
        wt.forward_dynamics(system, Q, np.array([0.0 * u, 10.0 * u, u]), T, algorithm=name)


# ---- tables


class Table:
    """Outcomes counted by class and algorithm, with the worst of each."""

    def __init__(self):
        self.counts, self.worst, self.notes, self.systems = {}, {}, {}, 0

    def add(self, seed, kind, outcomes):
        self.systems += 1
        for o in outcomes:
            key = kind, o.algorithm
            self.counts.setdefault(key, dict.fromkeys(OUTCOMES, 0))[o.outcome] += 1
            failed, before = o.outcome in ("silent", "crash"), self.worst.get(key, (-1.0, 0, False))
            if failed > before[2] or (failed == before[2] and o.outcome in JUDGED and not o.error <= before[0]):
                self.worst[key] = o.error, seed, failed
            if o.note:
                self.notes.setdefault((o.algorithm, o.outcome, o.note[:90]), [0, seed])[0] += 1

    def total(self, *outcomes):
        return sum(c[o] for c in self.counts.values() for o in outcomes)

    def bounds(self, *outcomes):
        """The same of algorithms, which state bounds."""
        return sum(c[o] for (_, name), c in self.counts.items() if name not in CALLS for o in outcomes)

    def held(self):
        """Share of stated bounds that are at or above the true error."""
        return share(self.bounds("right", "loose"), self.bounds("silent"))

    def tight(self):
        """Share of bounds that are within LOOSE times the true error."""
        return share(self.bounds("right", "silent"), self.bounds("loose"))

    def failures(self):
        """One line for each class and algorithm with silent answers or crashes."""
        for (kind, name), c in sorted(self.counts.items()):
            if c["silent"] + c["crash"]:
                error, seed, _ = self.worst[kind, name]
                yield f"{kind}, {name}: {c['silent']} silent, {c['crash']} crashes, worst {error:.1e} at seed {seed}"

    def lines(self):
        yield f"{'class':18s} {'algorithm':12s} " + " ".join(f"{o:>11s}" for o in OUTCOMES) + "   worst error, seed"
        for (kind, name), counts in sorted(self.counts.items()):
            error, seed, _ = self.worst.get((kind, name), (0.0, "-", False))
            yield f"{kind:18s} {name:12s} " + " ".join(f"{counts[o]:11d}" for o in OUTCOMES) + f"   {error:.1e}  {seed}"


def share(part, rest):
    return part / max(part + rest, 1)
