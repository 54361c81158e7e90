"""Dormand-Prince 5(4), adaptive, with dense output: the default.

Paper    [dormand1980] A family of embedded Runge-Kutta formulae, RK5(4)7M; [hairer1993] table II.5.2, and
         dense output of sec. II.6 in the form of its program DOPRI5; steps by [hairer1996] sec. IV.2.
Symbols  A, C, E and D are the paper's a_ij, c_i, b_i - b^_i and the d_i of DOPRI5.
Differs  as adaptive.py says: quaternions are made unit in every new state, and errors held below the tolerance.
"""

from ..run.task import Task
from .adaptive import Run
from .step_size import Control
from .tableau import make_tableau

ADAPTIVE = True
ORDER = 5

# row s: the weights of stages 0 ... s - 1; the last row is also b, the weights of the step
A = (
    (0,),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
C = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
E = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
D = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)
MARGIN = 4.0  # a fast top's energy then drifts by 5 rtol in 10 s
BETA = 0.04
TABLEAU = make_tableau(A, C, (E, (0,) * 7), (D,), 0, MARGIN, Control(5.0, 0.2 - 0.75 * BETA, BETA, 0.2, 10.0))


def begin(task: Task) -> Run:
    return Run(task, TABLEAU)
