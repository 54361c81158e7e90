"""Where the numbers of subchains, of cuts between them and of their faces lie."""

# integers of a subchain: where its own numbers are and how far apart; of its tip R, o, v and b; of its base's DOF
# S, U, d, uA and e; the cut at its base, or -1; the first cut at its tip, and how many; its base in q and u, or -1; the
# component whose point wrenches are about; how many loads act on it, and how many of these at the base
SUBCHAIN = 20
(
    AT, STEP, TIP_R, TIP_O, TIP_V, TIP_B, BASE_S, BASE_U, BASE_D, BASE_UA, BASE_E, BASE_CUT, TIP_FIRST, TIP_COUNT,
    IN_Q, IN_U, CENTRE, LOADS, BASE_LOADS,
) = range(19)  # fmt: skip
# integers of a cut: both subchains, the System's body that is B's base, its first load, how many are held and lent
CUT = 8
INNER, OUTER, BODY, FIRST_LOAD, HELD, LENT = range(6)
FACE = 24  # numbers of a face: R, o, v, b
MOST = 12  # rows of W
# numbers of a joint that was cut: R, o, S, D, W, give of each row, push of each row, acceleration that velocities
# cause, load that is known, and what of lent inertia is known; whether W is, once and for all
JOINT = 200
REL_R, REL_O, FREE_S, FREE_D, HOLD_W, GIVE, PUSH, DRIFT, KNOWN, RETURNED = 0, 9, 12, 48, 84, 156, 168, 180, 186, 192
KNOWN_W = 198
LENDING = 7  # numbers of what is lent: inertia, then along
