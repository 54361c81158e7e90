"""Draws the pictures of the concept pages: python docs/images/draw_concepts.py"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

HERE = Path(__file__).parent
INK, GREY, BLUE, ORANGE, GREEN = "#333333", "#999999", "#0072B2", "#D55E00", "#009E73"


def canvas(width, height, panels=1):
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, panels, squeeze=False)[0]
    for panel in axes:
        panel.set_aspect("equal")
        panel.axis("off")
    return figure, axes


def arrow(panel, start, end, colour=INK, width=1.6, bend=0.0, head=12, **more):
    style = {"arrowstyle": "-|>", "mutation_scale": head, "shrinkA": 0, "shrinkB": 0, "linewidth": width}
    panel.add_patch(FancyArrowPatch(start, end, color=colour, connectionstyle=f"arc3,rad={bend}", **(style | more)))


def words(panel, place, text, colour=INK, size=10, **more):
    panel.text(*place, text, color=colour, fontsize=size, **({"ha": "center", "va": "center"} | more))


def box(panel, centre, size, text, colour=INK, fill="#ffffff"):
    corner = (centre[0] - size[0] / 2, centre[1] - size[1] / 2)
    shape = FancyBboxPatch(corner, *size, boxstyle="round,pad=0.02,rounding_size=0.08", ec=colour, fc=fill, lw=1.3)
    panel.add_patch(shape)
    words(panel, centre, text, colour)


# ---- trees

PLACES = {0: (0, 0), 1: (0, 1), 2: (0, 2), 3: (-0.9, 2.9), 4: (0.9, 2.9), 5: (0.9, 3.9)}
PARENT = {1: 0, 2: 1, 3: 2, 4: 2, 5: 4}


def tree(panel):
    panel.plot([-0.5, 0.5], [0, 0], color=INK, lw=2)
    for x in np.linspace(-0.45, 0.45, 7):
        panel.plot([x, x - 0.12], [0, -0.16], color=INK, lw=1)
    for child, parent in PARENT.items():
        panel.plot(*zip(PLACES[parent], PLACES[child], strict=True), color="#cccccc", lw=7, solid_capstyle="round")
    for name, place in PLACES.items():
        if name:
            panel.plot(*place, "o", ms=17, mfc="#ffffff", mec=INK, mew=1.3)
            words(panel, place, str(name))


def articulated():
    figure, panels = canvas(8.6, 4.0, 3)
    titles = ("1. outward", "2. inward", "3. outward")
    notes = (
        "where bodies are,\nand how they move: $v$, $c$",
        "what a body feels like with all\nthat hangs on it: $I^A$, $p^A$",
        "joint after joint: $\\dot u$, $a$",
    )
    for panel, title, note, colour, inward in zip(panels, titles, notes, (GREY, BLUE, ORANGE), (0, 1, 0), strict=True):
        tree(panel)
        for child, parent in PARENT.items():
            a, b = np.array(PLACES[parent], float), np.array(PLACES[child], float)
            side = np.array([b[1] - a[1], a[0] - b[0]]) * 0.24 / np.linalg.norm(b - a)
            a, b = a + side + 0.18 * (b - a), b + side - 0.18 * (b - a)
            arrow(panel, *((b, a) if inward else (a, b)), colour)
        words(panel, (0, 4.9), title, colour if colour != GREY else INK, 12)
        words(panel, (0, -0.75), note, size=9.5)
        panel.set(xlim=(-2, 2), ylim=(-1.2, 5.2))
    return figure


# ---- constraints


def constraints():
    figure, (left, right) = canvas(8.6, 3.7, 2)
    f, star = np.array([2.2, 1.9]), np.array([-2.2, -0.6])
    left.axhline(0, color="#dddddd", lw=1)
    left.axvline(0, color="#dddddd", lw=1)
    arrow(left, (0, 0), f, BLUE, 2.2)
    arrow(left, f, f + star, ORANGE, 2.2)
    arrow(left, f + star, (0, 0), GREEN, 2.2)
    words(left, f / 2 + (0.25, -0.25), "$f$  applied", BLUE, ha="left")
    words(left, f + star / 2 + (-0.1, 0.3), "$f^*$  inertia", ORANGE)
    words(left, (-0.25, 0.72), "$f' = B^T\\lambda$\nconstraint", GREEN, ha="right")
    arrow(left, (0, -0.5), (2.2, -0.5), BLUE, 1.2)
    arrow(left, (2.2, -0.72), (0, -0.72), ORANGE, 1.2)
    words(left, (2.3, -0.6), "$k + k^* = 0$", ha="left")
    words(left, (2.75, 0.16), "allowed: $\\beta$", GREY, 9)
    words(left, (0.1, 2.25), "held: rows of $B$", GREY, 9, ha="left")
    left.set(xlim=(-1.7, 3.8), ylim=(-1.1, 2.5))
    blocks = (((0, 1.1), (1.8, 1.8), "$M$", "#d7e8f3"), ((1.9, 1.1), (0.8, 1.8), "$B^T$", "#d5efe6"),
              ((0, 0.2), (1.8, 0.8), "$B$", "#d5efe6"), ((1.9, 0.2), (0.8, 0.8), "$0$", "#ffffff"))  # fmt: skip
    for corner, size, text, fill in blocks:
        right.add_patch(Rectangle(corner, *size, fc=fill, ec=INK, lw=1))
        words(right, (corner[0] + size[0] / 2, corner[1] + size[1] / 2), text, size=13)
    for x, tops in ((3.0, ("$\\dot u$", "$-\\lambda$")), (4.3, ("$f$", "$\\gamma$"))):
        for y, high, text in ((1.1, 1.8, tops[0]), (0.2, 0.8, tops[1])):
            right.add_patch(Rectangle((x, y), 0.6, high, fc="#f6f6f6", ec=INK, lw=1))
            words(right, (x + 0.3, y + high / 2), text, size=12)
    words(right, (3.95, 1.55), "=", size=14)
    words(right, (2.45, -0.35), "multipliers: solve $B M^{-1}B^T\\lambda$ for the loads first", size=9.5)
    words(right, (2.45, -0.8), "null space: solve $\\beta^T M \\beta\\,\\dot z$ for the motion first", size=9.5)
    right.set(xlim=(-0.3, 5.2), ylim=(-1.1, 3.2))
    return figure


# ---- flexible bodies


def flexible():
    figure, (left, right) = canvas(9.2, 3.6, 2)
    x = np.linspace(0, 4, 60)
    y = 0.055 * x**2
    left.plot(x, 0 * x, "--", color=GREY, lw=1.2)
    left.plot(x, y, color=BLUE, lw=6, solid_capstyle="round", alpha=0.35)
    for k in (0, 15, 30, 44, 59):
        left.plot(x[k], y[k], "o", ms=5, color=BLUE)
    left.plot(0, 0, "o", ms=13, mfc="#ffffff", mec=INK, mew=1.5)
    left.plot(4, y[-1], "o", ms=13, mfc="#ffffff", mec=INK, mew=1.5)
    arrow(left, (0, 0), (1.0, 0), INK, 1.3)
    arrow(left, (0, 0), (0, 1.0), INK, 1.3)
    arrow(left, (x[44], 0), (x[44], y[44]), ORANGE, 1.6, head=9)
    words(left, (x[44] + 0.1, y[44] / 2), "$\\Pi^j\\eta$", ORANGE, 11, ha="left")
    words(left, (-0.15, 1.15), "$\\mathcal{F}_k$", size=12)
    words(left, (0.0, -0.45), "hinge $k$", size=9.5)
    words(left, (4.0, y[-1] + 0.45), "hinge $k-1$", size=9.5)
    words(left, (2.0, 1.25), "nodes with mass", BLUE, 9.5)
    words(left, (2.0, -0.35), "as it was", GREY, 9.5)
    left.set(xlim=(-0.6, 4.7), ylim=(-1.0, 1.9))
    steps = (
        ("$P^+_R$ of the bodies outside", "#ffffff"),
        ("shift to the node; add $M_m$", "#ffffff"),
        ("eliminate modes:  $D_f$, $g$, $\\nu_f$", "#d7e8f3"),
        ("eliminate the hinge:  $D_R$, $G_R$, $\\nu_R$", "#fbe3d3"),
        ("$P^+_R$ for the body inside", "#ffffff"),
    )
    for k, (text, fill) in enumerate(steps):
        box(right, (0, -k), (4.4, 0.62), text, fill=fill)
        if k:
            arrow(right, (0, -k + 0.67), (0, -k + 0.35), INK, 1.3, head=10)
    right.set(xlim=(-2.6, 2.6), ylim=(-4.6, 0.6))
    return figure


# ---- constraints that are activated and released


def temporary():
    figure = Figure(figsize=(8.6, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    t1, t2 = 1.0, 2.6
    for a, b, u in ((0, t1, 1.0), (t1, t2, 0.35), (t2, 3.6, 0.35)):
        t = np.linspace(a, b, 40)
        wave = u + (0.06 * np.sin(4 * (t - t1)) if a == t1 else 0.03 * (t - a) * (1 if a else -1))
        left.plot(t, wave, color=BLUE, lw=2)
    left.axvspan(t1, t2, color="#eef3f7")
    left.add_patch(FancyArrowPatch((t1, 0.97), (t1, 0.38), arrowstyle="-|>", mutation_scale=14, color=ORANGE, lw=1.8))
    left.text(t1 + 0.07, 0.7, "impulse: $u^+ = u^- + M^{-1}C^T\\Lambda$\n$C u^+ = 0$", color=ORANGE, va="center")
    for x, text in ((t1 / 2, "open"), ((t1 + t2) / 2, "made"), ((t2 + 3.6) / 2, "open")):
        left.text(x, 0.04, text, ha="center", color=INK)
    left.set(xlabel="t", ylabel="speed", xticks=[t1, t2], yticks=[], ylim=(0, 1.15), xlim=(0, 3.6))
    left.set_xticklabels(["made", "broken"])
    left.spines[["top", "right"]].set_visible(False)
    right.set_aspect("equal")
    right.axis("off")
    box(right, (0, 0), (1.3, 0.7), "open", fill="#ffffff")
    box(right, (3.4, 0), (1.3, 0.7), "made", fill="#eef3f7")
    arrow(right, (0.5, 0.45), (2.9, 0.45), ORANGE, bend=-0.35)
    arrow(right, (2.9, -0.45), (0.5, -0.45), GREEN, bend=-0.35)
    words(right, (1.7, 1.3), "near and slow, a time, an event:\nimpulse, energy is lost", ORANGE, 9.5)
    words(right, (1.7, -1.3), "too much load, a time, it would pull:\nno impulse, none is lost", GREEN, 9.5)
    arrow(right, (-0.25, 0.42), (-0.65, 0.25), BLUE, bend=1.6, head=10)
    words(right, (-0.6, 1.0), "bounce", BLUE, 9.5)
    right.set(xlim=(-1.2, 4.4), ylim=(-1.8, 1.8))
    return figure


if __name__ == "__main__":
    settings = {"svg.hashsalt": "whippletree", "svg.fonttype": "path", "font.size": 10, "mathtext.fontset": "cm"}
    with mpl.rc_context(settings):
        for draw in (articulated, constraints, flexible, temporary):
            draw().savefig(HERE / f"concept_{draw.__name__}.svg", metadata={"Date": None})
