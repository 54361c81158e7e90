"""How many operations forward dynamics of a chain takes, as the papers on parallel algorithms count them.

Paper    [critchley2007] the O(n) and DCA counts it quotes of [featherstone1999b], its eqs (43) and (72), DCAt of its
         figure 4; [anderson1999] table 3 and the tables behind its references; [jain1992] sec. VII for O(n^3), in
         flexible_operations.py.
Symbols  n bodies on hinges, p processors; of table 3 N bodies in N_sub subchains, one for each processor, with the
         set-up cost alpha of a message and the cost beta of a number in it. m multiplications, a additions.
Differs  table 3 counts the mean of all processors' work; a schedule waits for the slowest (lab/bench/theory.py). Its
         step VI has + (35m + 25a) N / N_sub^2 where the table of sequential costs has a minus, and its total has 1 /
         N_sub^2 for the 1 / N_sub of step VI: steps are taken as printed, and added up. In the comparison of O(n)
         algorithms, "- (198m - 173a)" is read as - (198m + 173a), without which one body would cost 347 additions. DCAt
         has no formula in the paper: it is DCA on p - 1 processors and O(n) on the one that has the tip, so loaded that
         none waits. Table 3 counts one iteration of conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from typing import NamedTuple

from . import flexible_operations as flexible_cost


@dataclass(frozen=True, slots=True)
class Count:
    """Multiplications and additions."""

    m: float
    a: float

    @property
    def total(self) -> float:
        """Both, at the same cost."""
        return self.m + self.a

    def __add__(self, other: Count) -> Count:
        return Count(self.m + other.m, self.a + other.a)

    def __mul__(self, times: float) -> Count:
        return Count(self.m * times, self.a * times)


# of one body: O(n) of the articulated-body algorithm; DCA on one processor; a body of a DCAe subsystem with two handles
BODY, DCA_BODY, DCAE_BODY = Count(300, 279), Count(1150, 937), Count(637, 548)
LEVEL = Count(928, 812)  # joining two subsystems, in all passes over the tree
DCA_ENDS, DCAE_ENDS = Count(-1041, -845), Count(-495, -446)  # what is trivial at ground and at the tip


def linear(n: float) -> Count:
    """O(n), the articulated-body algorithm, on one processor."""
    return BODY * n


def cubic(n: int) -> float:
    """O(n^3): forms the mass matrix and factors it; additions and multiplications together."""
    return flexible_cost.composite([0] * n)


def dca(n: float, p: float) -> Count:
    """Divide and conquer, eq. (43); of one processor as the paper quotes it."""
    if p <= 1:
        return DCA_BODY * n
    return LEVEL * log2(p / 2) + DCA_BODY * (n / p) + DCA_ENDS


def dcat(n: float, p: float) -> Count:
    """The same with an O(n) subsystem at the tip, as long as keeps all processors busy: figure 4."""
    if p <= 1:
        return linear(n)
    ratio = DCA_BODY.total / BODY.total
    return LEVEL * log2(p / 2) + DCA_BODY * (n / (p - 1 + ratio)) + DCA_ENDS


def dcae(n: float, p: float) -> Count:
    """The efficient form, with O(n) subsystems everywhere, all of one length: eq. (72)."""
    if p <= 1:
        return linear(n)
    return LEVEL * log2(p / 2) + DCAE_BODY * (n / p) + DCAE_ENDS


def dcae_balanced(n: float, p: float) -> Count:
    """The same with twice as many bodies in the terminal subsystem, as the paper advises: figures 5 and 6."""
    return linear(n) if p <= 1 else LEVEL * log2(p / 2) + DCAE_BODY * (n / (p + 1)) + DCAE_ENDS


# table 3 by what is worked on: a body in steps II to VI, of which where its subchain is cut at its base; a cut joint in
# steps IV to VII; one iteration; and step IX
HYBRID_BODY, BASE_CUT, CUT = Count(605, 479), Count(129, 85), Count(460, 297)
ITERATION, ANSWER_BODY, ANSWER_CUT = Count(162, 150), Count(10, 10), Count(24, 26)


class Messages(NamedTuple):
    """How many are set up, in turn, and how many numbers they carry."""

    alpha: float
    beta: float


def hybrid_steps(N: float, N_sub: float) -> dict[str, tuple[Count, Messages]]:
    """Table 3: computation and communication of each step, with one subchain on each processor."""
    each, cut, square, rounds = N / N_sub, (N_sub - 1) / N_sub, N / N_sub**2, log2(N_sub)
    none = Messages(0, 0)
    return {
        "II": (Count(9, 12) * each, Messages(1, 6)),
        "III": (Count(116, 102) * each, none),
        "IV": (Count(83, 68) * each + Count(32, 22) * cut, none),
        "V": (Count(309, 225) * each + Count(248, 116) * cut + Count(-94, -60) * square, none),
        "VI": (
            Count(88, 72) * each + Count(35, 25) * square + Count(180, 119) * cut + Count(-20, -16) * (1 / N_sub),
            none,
        ),
        "VII": (Count(0, 40) * cut, Messages(1, 70)),
        "VIII": (Count(162, 150 + 3 * rounds), Messages(3 * rounds, 6 * rounds + 10)),
        "IX": (Count(10, 10) * each + Count(24, 26) * cut, none),
    }


def hybrid(N: float, N_sub: float) -> Count:
    """Operations of a processor, all steps of table 3."""
    return sum((count for count, _ in hybrid_steps(N, N_sub).values()), Count(0, 0))


def hybrid_messages(N: float, N_sub: float) -> Messages:
    """Communication of table 3; on one processor there is none."""
    if N_sub <= 1:
        return Messages(0, 0)
    sent = [messages for _, messages in hybrid_steps(N, N_sub).values()]
    return Messages(sum(s.alpha for s in sent), sum(s.beta for s in sent))


def uncut(N: float) -> Count:
    """A chain that is not cut, steps II to VI: O(n) as the hybrid algorithm has it."""
    return Count(9 + 116 + 351, 12 + 102 + 280) * N + Count(-215, -165)


def hybrid_sequential(N: float, N_sub: float) -> Count:
    """The hybrid algorithm on one processor, steps IV to IX without the solution: the table behind the references."""
    cut = Count(484, 323) * (N_sub - 1)
    return Count(490, 375) * N + cut + Count(-129, -85) * (N / N_sub) + Count(-20, -16)


def logarithmic(N: float) -> Count:
    """O(log N) on N processors, by Newton and Euler, all joints cut: the last table."""
    return Count(791, 521) + Count(34 + 732, 76 + 653) * log2(N)


# other O(n) algorithms on one processor: the last table but one
SEQUENTIAL: dict[str, Callable[[float], Count]] = {
    "ABI": lambda N: Count(199, 174) * N + Count(-198, -173),
    "Kane, with shifting": lambda N: Count(268, 212) * N + Count(-215, -165),
    "Kane, without shifting": lambda N: Count(181, 124) * N + Count(-128, -77),
}
