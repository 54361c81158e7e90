"""The model files with loops are the mechanisms of the papers, and close where they say so."""

import re
from pathlib import Path

import numpy as np
import pytest

import loop_zoo as zoo
from loop_reference import constraint_rows
from whippletree import files
from whippletree_lab.reproduce import loop_problems

MODELS = Path(__file__).parents[2] / "models"
MADE = {
    "five_bar": loop_problems.five_bar_model,
    "slider_crank": zoo.slider_crank_model,
    "andrews": loop_problems.andrews_model,
    "bricard": loop_problems.bricard_model,
    "ladder": lambda: loop_problems.n_four_bar_model(40),
    "stewart": zoo.stewart_model,
    "leg": zoo.leg_model,
}
# file: cut joints, DOF that the rank leaves at the start
SHAPE = {
    "five_bar": (1, 2),
    "slider_crank": (1, 1),
    "andrews": (3, 1),
    "bricard": (1, 1),
    "ladder": (40, 1),
    "stewart": (5, 6),
    "leg": (1, 4),
    "four_bar": (1, 1),
}


def same(read, made):
    """To a rounding: the last digit of a pose differs from one library of sines to the next."""
    pattern = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
    texts = [re.sub(r", where=('[^']*'|None)", "", repr(model)) for model in (read, made)]
    numbers = [np.array([float(x) for x in pattern.findall(text)]) for text in texts]
    if pattern.sub("#", texts[0]) != pattern.sub("#", texts[1]):
        return False
    return np.allclose(*numbers, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", MADE)
def test_the_file_is_the_mechanism_of_the_tests(name):
    read, made = files.load(MODELS / f"{name}.toml"), MADE[name]()
    assert same(read, made)
    assert list(read.joints) == list(made.joints)  # their order decides where loops are cut


def closed(name):
    """A closed pose: the file's own, or that of the case."""
    system = files.load(MODELS / f"{name}.toml").compile()
    if name in ("five_bar", "andrews"):
        return system, getattr(zoo, name)()[1]
    if name == "four_bar":
        coupler, rocker = zoo.four_bar_angles(0.3, 0.9, 0.8, 1.0, 0.6)
        q = {"shaft": 0.6, "pin": coupler - 0.6, "wrist": rocker - coupler, "rock": rocker}
        return system, zoo.start(system, q)[0]
    return system, system.q0


@pytest.mark.parametrize("name", SHAPE)
def test_loops_close_and_leave_the_dofs(name):
    system, q = closed(name)
    _, C, gap, _ = constraint_rows(system.model, system, q, np.zeros(system.nu))
    assert np.abs(gap).max() < 1e-14
    rank = np.linalg.matrix_rank(C, rtol=1e-9)
    assert (len(system.cut_joints), system.nu - rank) == SHAPE[name]


def test_explain_is_short_for_many_loops():
    lines = files.load(MODELS / "ladder.toml").compile().explain().splitlines()
    loops = [line.strip() for line in lines if "closes the loop" in line]
    reported = "(revolute) closes the loop foot0 - left1 - right1"
    assert loops[1] == f"'foot2' {reported} - left2 - right2, based on ground, rank 2 of 5 rows"
    assert loops[7] == f"'foot8' {reported} - ... - right7 - left8 - right8, based on ground, rank 2 of 5 rows"
    assert len(loops) == 8
    assert "           and 32 more, up to 'foot40'" in lines
