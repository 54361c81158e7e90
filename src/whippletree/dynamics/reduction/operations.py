"""The operations of a program on fronts, and what each is done to: the planner writes them, the kernels read them.

A front lies at ``at`` in the work, and has m variables besides the body's own acceleration; see front.py. ``rows`` is
where its open rows begin, ``store`` where is kept what the way outward takes, ``var`` a variable by its number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...compiler.records import reader

ADD, FREE, DEPENDENT, KEPT, RELEASE, BODY, CLOSE, MERGE, MOVE, TAKE, ROOT, MODAL, COUPLED, EXCHANGE = range(14)
COLUMNS = 11  # of an operation


class Operation(NamedTuple):
    """What all have, in front of their own operands."""

    op: Any
    i: Any  # the body
    at: Any  # where its front is
    m: Any  # number of its variables


class Solve(NamedTuple):
    """Of FREE, DEPENDENT, KEPT, RELEASE and TAKE: a degree of freedom that leaves the front, or becomes a variable."""

    j: Any
    store: Any
    rows: Any
    first: Any = 0  # of the rows that give it
    group: Any = 0  # how many these are
    count: Any = 0  # of open rows
    var: Any = -1
    # of KEPT alone, in the place of ``first``: one more than the column of a mode, at a node; 0 for a joint


class Close(NamedTuple):
    """Rows of a loop, at its outer end."""

    start: Any  # rows of the constraint Jacobian
    stop: Any
    rows: Any
    side: Any  # which of the two bodies this is
    key: Any  # where the base's acceleration is among the variables; -1 where it is not
    slack: Any  # one more than the variable that the rows of two branches share, negative at one of them; or 0


class Couple(NamedTuple):
    """A row in two degrees of freedom; -1 for one that is prescribed."""

    start: Any
    stop: Any
    rows: Any
    first: Any
    second: Any


class Merge(NamedTuple):
    """A front that goes into that of the parent; ROOT has its open rows alone."""

    parent: Any
    there: Any  # the parent's front
    above: Any  # number of its variables
    link: Any  # where in maps it says which of them are these
    rows: Any
    open: Any  # number of rows, at most


class Move(NamedTuple):
    """Open rows that become rows of the parent's front."""

    row: Any
    count: Any
    there: Any
    above: Any
    link: Any


class Modal(NamedTuple):
    """The modes of a flexible body, which are variables."""

    j: Any
    slots: Any  # where in maps their number stands, and then they
    count: Any


class Exchange(NamedTuple):
    """A variable that is expressed in others, the pivots."""

    var: Any
    store: Any
    rows: Any
    link: Any  # where in maps the pivots stand, then the rows used, then where their sizes are
    pivots: Any
    used: Any
    count: Any  # of open rows


operation, solve, close, couple = (reader(record) for record in (Operation, Solve, Close, Couple))
merge, move, modal, exchange = (reader(record) for record in (Merge, Move, Modal, Exchange))
OPERANDS = len(Operation._fields)  # where an operation's own begin
