"""Sources, messages and documentation use the field's words: private ones of earlier versions are not written again."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# of each private word: the field's word for it
WORDS = {
    r"(?<!degree of )(?<!degrees of )freedoms?": "degree of freedom, DOF",
    r"strands?": "subchain",
    r"knots?": "loop cluster",
    r"crews?": "thread pool",
    r"bonds": "constraint state",
    r"given motions?": "prescribed motion",
    r"one[-_]sided": "unilateral",
    r"afloat": "floating base",
    r"amiss": "residual",
    r"moving pictures?": "animation",
    r"comes? and goe?s?": "is activated and released",
    r"(make|break)_(at|within|below|force|torque)": "activate_..., release_...",
    r"turning_(stiffness|damping)": "rotational_...",
    r"whoever|nobody": "a sentence without persons",
    r"stands? twice": "is defined twice",
    r"is not right": "what is wrong with it",
    r"(is|are) (told|said)": "is reported",
}
# (file, word): why it stays
ALLOWED = {
    ("src/whippletree/model/renamed.py", "*"): "the table of old names",
    ("src/whippletree/joints/curve.py", "knots"): "of a spline",
    ("src/whippletree/joints/curve.py", "one-sided"): "a derivative",
}
FILES = ("src/**/*.py", "lab/**/*.py", "docs/**/*.md", "docs/**/*.toml", "models/*.toml", "examples/*.py", "*.md")
RELEASED = {"CHANGELOG.md"}  # entries of what was released keep the names it had


def private_words(text):
    """Each private word of a text, with its line and what to write."""
    flat = re.sub(r"\s+#?\s*", " ", text)
    for word, better in WORDS.items():
        for found in re.finditer(rf"(?i)(?<![\w]){word}(?![\w])", flat):
            yield found.group(), better


def listed():
    return sorted({p for pattern in FILES for p in ROOT.glob(pattern) if p.name not in RELEASED})


@pytest.mark.parametrize("path", listed(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_the_fields_words(path):
    name = path.relative_to(ROOT).as_posix()
    found = [
        f"{word!r}: write {better}"
        for word, better in private_words(path.read_text("utf-8"))
        if (name, word.lower()) not in ALLOWED and (name, "*") not in ALLOWED
    ]
    assert not found


@pytest.mark.parametrize("word", [
    "a freedom", "Freedoms", "strands", "a knot", "the crew", "given motion", "one-sided", "one_sided", "afloat",
    "amiss", "moving\n    # picture", "comes and goes", "make_at", "break_force", "turning_damping", "Whoever",
    "nobody", "stands twice", "is not right", "is\ntold", "are said", "bonds",
])  # fmt: skip
def test_a_private_word_is_found(word):
    assert list(private_words(f"Here {word} is."))


@pytest.mark.parametrize("text", ["degrees of\n    freedom", "degree of # freedom", "a screw", "keyboard", "DOF"])
def test_the_fields_own_are_not(text):
    assert not list(private_words(text))


def test_exceptions_are_needed():
    for name, word in ALLOWED:
        words = {found.lower() for found, _ in private_words((ROOT / name).read_text("utf-8"))}
        assert words if word == "*" else word in words, f"{name}: {word} is gone"
