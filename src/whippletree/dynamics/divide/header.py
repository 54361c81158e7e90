"""The header of a division's memory and the kinds of its tasks, as planner and kernels know them."""

HEADER = 32
(
    STANDS_AT, STANDS_COUNT, BLOCKS_AT, BLOCKS_COUNT, JOINS_AT, FAMILIES_AT, TASKS_AT, FIRST_AT, STEPS_COUNT,
    ROOM_AT, SYSTEM_NQ, SYSTEM_NU, SYSTEM_NB, GRAVITY,
) = range(14)  # fmt: skip
# behind gravity: what is to be computed; then for calls from compiled loops the address of the solver, the board, how
# many threads take part, and how long this memory is; rows of loops inside subchains, which rows they are, and which
# are the others; below what directions of rows are redundant; the address of what solves subchains with loops; how many
# joins
FORCES_ALONE, SOLVER, SHARED_STATE_AT, MEMBERS_NOW, SIZE = range(16, 21)
LOCAL_AT, LOCAL_COUNT, LOCAL_ROWS_AT, SHARED_COUNT, SHARED_ROWS_AT, TOLERANCE, CLUSTERED, JOINS_COUNT = range(21, 29)
TASK = 5
PLACE, COMPOSE, RECURSION, JOINING, MIDDLE, OPENING, ANSWER = range(7)
READY, PRESS = 7, 8  # instead of PLACE and SWEEP, where forces alone act
PIVOTS = 9  # instead of ANSWER: 1 / D of every DOF
PROJECT = 10  # a row of the constraint Jacobian less its parts along the rows inside a subchain
ALL_ACTS, FORCES_ACT, PIVOTS_ONLY = range(3)  # values of FORCES_ALONE
LOST = 1.0  # what a solver returns if accelerations are finite and digits may be lost
