"""Grid points of a Nastran bulk file: their places, and the axes in which their motions are reported.

A system of coordinates has an origin A, its z axis through B, and C in its plane of x and z; all three may be given in
another system. Points are (x, y, z) in a rectangular one, (r, θ, z) in a cylindrical, (ρ, θ from z, φ) in a spherical
one, angles in degrees, and the motions of a point are along the axes of growing coordinates there.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import ModelError
from .bulk import Card, cards

KINDS = {"CORD2R": "rectangular", "CORD2C": "cylindrical", "CORD2S": "spherical"}


class Axes(NamedTuple):
    kind: str
    origin: np.ndarray  # (3,) in the basic system
    R: np.ndarray  # (3, 3) from its axes to basic ones

    def place(self, x: np.ndarray) -> np.ndarray:
        """In the basic system, of coordinates in this one."""
        a, b = np.deg2rad(x[1]), np.deg2rad(x[2])
        if self.kind == "cylindrical":
            x = np.array([x[0] * np.cos(a), x[0] * np.sin(a), x[2]])
        elif self.kind == "spherical":
            x = x[0] * np.array([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)])
        return self.origin + self.R @ x

    def turn(self, place: np.ndarray) -> np.ndarray:
        """(3, 3) from the axes of motions at a place to basic ones; on the z axis φ is zero."""
        x, y, z = self.R.T @ (place - self.origin)
        r = np.hypot(x, y)
        c, s = (x / r, y / r) if r > 0.0 else (1.0, 0.0)
        along, around = np.array([c, s, 0.0]), np.array([-s, c, 0.0])
        up = np.array([0.0, 0.0, 1.0])
        if self.kind == "cylindrical":
            return self.R @ np.column_stack([along, around, up])
        if self.kind == "spherical":
            a = np.arctan2(r, z)
            outward, down = np.sin(a) * along + np.cos(a) * up, np.cos(a) * along - np.sin(a) * up
            return self.R @ np.column_stack([outward, down, around])
        return self.R


def grid(path: Path) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Numbers (ascending), places (nn, 3) in the basic system, and (6, 6) from motions of each point to basic ones."""
    points: dict[int, Card] = {}
    systems: dict[int, Card] = {}
    usual = Card("GRDSET", [], str(path))
    for card in cards(path, ("GRID", "GRDSET", *KINDS)):
        if card.name == "GRDSET":
            usual = card
        else:
            _keep(card, points if card.name == "GRID" else systems)
    known = {0: Axes("rectangular", np.zeros(3), np.eye(3))}
    places, turns = [], []
    with np.errstate(all="ignore"):  # numbers that are not finite are refused with the places
        for _, card in sorted(points.items()):
            given = _axes(card, card.whole(1, usual.whole(1, 0)), systems, known)
            own = _axes(card, card.whole(5, usual.whole(5, 0)), systems, known)
            places.append(given.place(np.array([card.number(k) for k in (2, 3, 4)])))
            turns.append(np.kron(np.eye(2), own.turn(places[-1])))
    return np.array(sorted(points), int), np.array(places).reshape(-1, 3), turns


def _keep(card: Card, among: dict[int, Card]) -> None:
    number = card.whole(0)
    if number <= 0:
        raise card.refusal(0, "a number above 0")
    if number in among and among[number][:2] != card[:2]:
        raise ModelError(f"nastran: {card.name} {number} is there twice", got=among[number].where, where=card.where)
    among[number] = card


def _axes(user: Card, number: int, systems: dict[int, Card], known: dict[int, Axes]) -> Axes:
    """A system of coordinates, made after those in which its points are given."""
    waiting: list[int] = []
    while number not in known:
        if number not in systems or number in waiting:
            why = "is defined in terms of itself" if number in waiting else "is not known"
            expected = "cards CORD2R, CORD2C or CORD2S"
            raise ModelError(f"nastran: the system of coordinates {number} {why}", expected=expected, where=user.where)
        waiting.append(number)
        user = systems[number]
        number = user.whole(1, 0)
    for number in reversed(waiting):
        card = systems[number]
        frame = known[card.whole(1, 0)]
        A, B, C = (frame.place(np.array([card.number(2 + 3 * p + k) for k in range(3)])) for p in range(3))
        z = (B - A) / np.linalg.norm(B - A)
        y = np.cross(z, C - A)
        y /= np.linalg.norm(y)
        if not np.isfinite(y).all():
            raise ModelError(f"nastran: {card.name} {number} has no axes: its points are on a line", where=card.where)
        known[number] = Axes(KINDS[card.name], A, np.column_stack([np.cross(y, z), y, z]))
    return known[waiting[0]] if waiting else known[number]
