"""Systems that are hard on purpose, each from a seed alone, and what every algorithm makes of them.

``draw(seed)`` gives a system of one of CLASSES at a consistent state; ``judge`` compares every algorithm that accepts
it with the reference in extended precision and with the bound that the algorithm states itself.
"""

import contextlib
import warnings
from typing import NamedTuple

import numpy as np

import whippletree as wt
from adversary_classes import LAWS, STRUCTURES, any_structure
from extended_reference import Undetermined, solve, spread
from sketch import Laws, Sketch
from whippletree.dynamics.choose import able_to_solve
from whippletree.errors import ModelError, SimulationError

EPS = float(np.finfo(float).eps)


class Drawn(NamedTuple):
    kind: str
    system: wt.System
    q: np.ndarray
    u: np.ndarray
    tau: np.ndarray


COMBINED = 0.07
CLASSES = (*STRUCTURES, *LAWS, "combined")


def draw(seed):
    """The system of a seed at a consistent state; drawn again where the model is refused."""
    rng = np.random.default_rng([seed, 6007])
    shares = np.array([share for _, share in (*STRUCTURES.values(), *LAWS.values())] + [COMBINED])
    kind = str(rng.choice(CLASSES, p=shares / shares.sum()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while True:
            try:
                return Drawn(kind, *_drawn(kind, rng))
            except (ModelError, np.linalg.LinAlgError):
                continue


def _drawn(kind, rng):
    laws, structure = Laws(), any_structure
    if kind in STRUCTURES:
        structure = STRUCTURES[kind][0]
    elif kind in LAWS:
        LAWS[kind][0](rng, laws)
    else:
        if rng.random() < 0.7:
            structure = STRUCTURES[str(rng.choice([k for k in STRUCTURES if k != "contradicting"]))][0]
        for name in rng.choice(list(LAWS), 1 if structure is not any_structure else 2, replace=False):
            LAWS[str(name)][0](rng, laws)
    s = Sketch(rng, laws)
    structure(s)
    if rng.random() < 0.25 and not s.model.constraints and not s.model.forces:
        s.shuffle()
    return s.finish(rest=rng.random() < 0.15)


# ---- what algorithms answer

PLAIN = 1e-9  # error that a plain call promises to stay below
LOOSE = 1e3  # times the true error
FLOOR = 8 * EPS  # what the true error is taken as at least
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
    return [outcome(truth, name) for name in names]


class Truth:
    """The reference's answer to a system, and how far the question leaves it open; each is found when needed."""

    def __init__(self, drawn):
        self.drawn, self.open = drawn, None
        try:
            self.answer = solve(*drawn[1:])
        except Undetermined:
            self.answer = None

    def error(self, udot):
        """Of the nearest fair reading, relative to the largest acceleration; less what dropped equations leave open."""
        gravity = float(np.abs(self.drawn.system.model.gravity).max()) if self.answer.locked else 0.0
        found = []
        for x, loss in self.answer.readings:
            off = np.abs(udot - x).max(initial=0.0) / max(np.abs(x).max(initial=0.0), gravity, 1e-300)
            found.append(max(float(off) - DROPPED * loss, 0.0))
        return min(found)

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
            self.open = 10 * spread(*self.drawn[1:])
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
    error = truth.error(udot)
    if error > bound and error > bound + truth.spread():
        return Outcome(name, "ambiguous" if truth.answer.ambiguous else "silent", error, bound)
    if components is not None and truth.beyond(udot, components):
        return Outcome(name, "silent", error, bound, "a component is beyond its own bound")
    if components is not None and bound > LOOSE * max(error, FLOOR):
        open_question = truth.answer.ambiguous or truth.answer.locked  # a locked mechanism has no error to compare with
        return Outcome(name, "ambiguous" if open_question else "loose", error, bound)
    return Outcome(name, "right", error, bound)


def answered(drawn, name):
    """Accelerations, the bound of their relative error, and those of components; the plain call must agree."""
    given = drawn[1:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(ModelError, SimulationError):  # what a call leaves behind must not mislead the next
            wt.forward_dynamics(drawn.system, drawn.q, np.zeros_like(drawn.u), drawn.tau, algorithm=name)
    plain = wt.forward_dynamics(*given, algorithm=name)
    udot, certificate = wt.forward_dynamics(*given, algorithm=name, certificate=True)
    if np.abs(plain - udot).max(initial=0.0) > max(2 * certificate.bound, PLAIN) * np.abs(udot).max(initial=0.0):
        return plain, max(2 * certificate.bound, PLAIN), None  # it is judged in place of the other, by its own promise
    return udot, certificate.bound, certificate.error


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

    def held(self):
        """Share of stated bounds that are at or above the true error."""
        return share(self.total("right", "loose"), self.total("silent"))

    def tight(self):
        """Share of bounds that are within LOOSE times the true error."""
        return share(self.total("right", "silent"), self.total("loose"))

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
