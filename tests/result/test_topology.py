"""The drawing of a tree: every body and joint once, nothing over anything else, and never larger than can be read."""

from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from loop_zoo import leg_model
from whippletree.result.pictures.topology import topology_figure
from whippletree.result.pictures.topology_layout import MOST_BRANCHES, MOST_DRAWN, layout, shortened
from whippletree_lab.bench import families

FOUR_BAR = Path(__file__).parents[2] / "models" / "four_bar.toml"


def star(count):
    model = wt.Model("star")
    for k in range(count):
        model.body(f"b{k}", mass=1.0, inertia=(1, 1, 1))
        model.joint(f"j{k}", "free", "ground", f"b{k}")
    return model


def texts(figure):
    return [t.get_text() for t in figure.axes[0].texts]


def boxes(system):
    """Corners (left, top, right, bottom) of all boxes."""
    place = layout(system)
    return np.array(
        [
            (place.x[i], place.y[i] - place.tall(i) / 2, place.x[i] + place.box, place.y[i] + place.tall(i) / 2)
            for i in place.drawn
        ]
    ), place


@pytest.mark.parametrize(
    ("model", "tallest"),
    [
        (families.chain(1), 2),
        (families.chain(7), 2),
        (families.chain(30), 5),
        (families.tree(30), 12),
        (families.chain(200), 6),
        (families.tree(200, seed=3), 40),
        (families.chain(2 * MOST_DRAWN), 16),
        (star(200), 5),
    ],
    ids=["1", "7", "30", "tree of 30", "200", "tree of 200", "1200", "star of 200"],
)
def test_boxes_stand_apart_on_a_page(model, tallest):
    """Tallest in inches; the width is that of a page at any size."""
    system = model.compile()
    corners, place = boxes(system)
    left, top, right, bottom = corners.T
    across = (left[:, None] < right) & (left < right[:, None])
    down = (top[:, None] < bottom) & (top < bottom[:, None])
    assert (across & down).sum() == len(corners), "a box lies on another"
    assert left.min() > 0
    assert top.min() > 0
    assert right.max() < place.width < 14
    assert bottom.max() < place.height < tallest
    figure = topology_figure(system)
    figure.canvas.draw()
    assert tuple(figure.get_size_inches()) == pytest.approx((place.width, place.height))


def test_every_name_and_kind_is_there():
    system = families.tree(12).compile()
    drawn = texts(topology_figure(system))
    for name in (*system.bodies, *system.joints):
        assert drawn.count(name) >= 1, name
    assert drawn.count("revolute") == sum(j.kind == "revolute" for j in system.model.joints.values())


def test_a_loop_is_closed_by_a_dashed_arc():
    figure = topology_figure(wt.load(FOUR_BAR).compile())
    assert "rock (revolute)" in texts(figure)
    assert [p.get_linestyle() for p in figure.axes[0].patches].count("--") == 1
    assert figure.axes[0].get_ylim()[0] > layout(wt.load(FOUR_BAR).compile()).height  # room for it


def test_welded_bodies_share_a_box():
    model = wt.Model("welded")
    for k in range(7):
        model.body(f"b{k}", mass=1.0, inertia=(1, 1, 1))
        model.joint(f"j{k}", "fixed" if k else "revolute", f"b{k - 1}" if k else "ground", f"b{k}")
    place = layout(model.compile())
    assert place.names == {0: ["ground"], 1: ["b0", "b1", "b2", "b3", "+ 3 welded"]}


def test_a_loop_of_welds_is_drawn_at_its_box():
    model = wt.Model("twice welded")
    model.body("a", mass=1.0, inertia=(1, 1, 1))
    model.joint("one", "fixed", "ground", "a")
    model.joint("two", "fixed", "ground", "a")
    assert "two (fixed)" in texts(topology_figure(model.compile()))


def test_forces_are_drawn_where_they_act():
    model = families.chain(4)
    model.frame("tip", "b3")
    model.force("motor", "motor", joint="j1", torque=1.0)
    model.force("motion", "motion", joint="j0")
    model.force("spring", "spring", body="b1", to="tip", stiffness=1.0)
    model.force("bushing", "bushing", body="b1", to="b3", stiffness=1.0)
    model.force("wind", "wrench", body="b2", force=(1, 0, 0))
    model.force("anchor", "spring", body="b0", stiffness=1.0)
    figure = topology_figure(model.compile())
    assert all(texts(figure).count(name) == 1 for name in model.forces)
    top = figure.axes[0].get_ylim()[1]
    assert top < 0, "no room for the arcs above"


def test_a_force_within_a_welded_body_is_written_at_it():
    model = families.chain(1)
    model.body("plate", mass=1.0, inertia=(1, 1, 1))
    model.joint("weld", "fixed", "b0", "plate", at=(0, 0, 1))
    model.force("tie", "spring", body="b0", to="plate", stiffness=1.0)
    assert texts(topology_figure(model.compile())).count("tie") == 1


def test_a_coupling_is_drawn():
    model = families.chain(3)
    model.couple("j2", "j0", ratio=-2.0)
    assert "j2 = -2 j0" in texts(topology_figure(model.compile()))


def test_constraints_are_dashed_arcs():
    model = families.chain(4)
    model.constraint("tie", "distance", body="b1", to="b3", length=0.5)
    model.constraint("slot", "point_on_line", body="b3")
    model.constraint("mesh", "gear", joint="j2", of="j0", ratio=2.0)
    model.constraint("sweep", "relative", joint="j1", position=wt.Sine(0.1, 1.0))
    figure = topology_figure(model.compile())
    kinds = {"tie": "distance", "slot": "point_on_line", "mesh": "gear", "sweep": "relative"}
    assert all(texts(figure).count(f"{name} ({kind})") == 1 for name, kind in kinds.items())
    assert [p.get_linestyle() for p in figure.axes[0].patches].count("--") == 4


def test_names_of_arcs_do_not_lie_on_boxes():
    """A leg with a slot from ground to its last body, in the next band: the middle of its arc is on a box."""
    model = leg_model()
    model.constraint("slot", "point_on_line", body="shank")
    system = model.compile()
    corners, place = boxes(system)
    (text,) = (t for t in topology_figure(system).axes[0].texts if t.get_text() == "slot (point_on_line)")
    x, y = text.get_position()
    half = 0.4 * place.style.letter * len(text.get_text())
    left, top, right, bottom = corners.T
    assert not ((left < x + half) & (x - half < right) & (top < y) & (y < bottom)).any()


def test_what_is_left_out_is_counted():
    assert f"+ {200 - MOST_BRANCHES} more" in texts(topology_figure(star(200).compile()))
    system = families.chain(MOST_DRAWN + 50).compile()
    drawn = texts(topology_figure(system))
    assert "+ 50 more" in drawn
    assert f"{MOST_DRAWN} of {MOST_DRAWN + 50} bodies" in drawn


def test_a_joint_into_the_next_band_names_both_ends():
    system = families.chain(30).compile()
    place = layout(system)
    last = place.columns - 1  # the body at the end of the first band, b<last - 1>, and the next
    drawn = texts(topology_figure(system))
    assert drawn.count(f"b{last - 1}") == drawn.count(f"b{last}") == 2


def test_hostile_names_are_text(tmp_path):
    model = wt.Model("$\\frac$")
    model.body("<b>&$x^$_", mass=1.0, inertia=(1, 1, 1))
    model.joint("]]><script>", "revolute", "ground", "<b>&$x^$_")
    topology_figure(model.compile()).savefig(tmp_path / "x.svg")
    page = (tmp_path / "x.svg").read_text("utf-8")
    assert "<script>" not in page
    assert "<b>" not in page


def test_names_are_shortened_by_their_width():
    assert shortened("elbow", 5) == "elbow"
    assert shortened("elbows", 5) == "elbo…"
    assert shortened("関節関節", 5) == "関節…"
