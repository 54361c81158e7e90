"""Valid files made wrong: tokens, lines, numbers and bytes lost, repeated, exchanged and replaced by hostile ones.

The same generator of chance makes the same change, so a case is known by its number.
"""

import re
from random import Random

TOKEN = re.compile(rb"[+-]?\d+\.?\d*(?:[eE][+-]?\d+)?|[A-Za-z_][\w.]*|\"[^\"\n]*\"|\s+|[^\w\s]")
NUMBER = re.compile(rb"[+-]?\d+\.?\d*(?:[eE][+-]?\d+)?")
HOSTILE_NUMBERS = [
    *b"0 -0 -1 1 2 0.5 1e-320 1e-30 1e30 1e99 1e101 1e308 -1e308 1e309 nan -nan inf -inf NaN Infinity 1_0 0x10 1.2.3 "
    b"2147483647 2147483648 -2147483649 4294967296 9223372036854775807 9223372036854775808 99999999999999999999 "
    b"1000000 1e6 3.5 1d5 1+5 true false null".split(),
    b"9" * 400,
    b"0." + b"0" * 400 + b"1",
]
HOSTILE_TEXTS = [
    b"",
    b" ",
    b"\x00",
    b"ground",
    b"../../../etc/passwd",
    b"/etc/passwd",
    b"file:///etc/passwd",
    b"a" * 300,
    b"package://",
    "\u202e",
    "é",
    "ı",
    "😀",
    "\ud7ff",
    "\u2028",
    "\ufeff",
    "١",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"%s%n",
    b"{}",
    b"[]",
    b"[[]]",
    b'""',
    b"''",
    b"&lt;",
    b"&#0;",
    b"&#x110000;",
    b"<!DOCTYPE a>",
    b"<![CDATA[",
    b"-->",
    b"<a/>",
    b"__import__('os')",
    b"nan",
    b"inf",
    b"1e999",
    b"\\",
    b"\r",
    b"\n",
]
HOSTILE_TEXTS = [x if isinstance(x, bytes) else x.encode() for x in HOSTILE_TEXTS]
NESTS = [
    (b"[", b"]"),
    (b"{a=", b"}"),
    (b"(", b")"),
    (b"<a>", b"</a>"),
    (b"<body>", b"</body>"),
    (b'{"a":', b"}"),
    (b"a.", b""),
]
MOST = 1 << 16  # bytes of a changed text: what is larger only takes time


def mutated_text(data: bytes, chance: Random, others: list[bytes]) -> bytes:
    """One to four changes of a text that has words, numbers and lines."""
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        data = chance.choice(TEXT_CHANGES)(data, chance, others)[:MOST]
    return data


def mutated_bytes(data: bytes, chance: Random, others: list[bytes]) -> bytes:
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 8))):
        data = chance.choice(BYTE_CHANGES)(data, chance, others)[: 4 * MOST]
    return data


# ---- tokens


def _tokens(change):
    def changed(data, chance, others):
        tokens = TOKEN.findall(data)
        solid = [i for i, token in enumerate(tokens) if not token.isspace()]
        if solid:
            change(tokens, chance.choice(solid), solid, chance, others)
        return b"".join(tokens)

    return changed


@_tokens
def delete_token(tokens, i, solid, chance, others):
    del tokens[i : i + chance.choice((1, 1, 2, 5))]


@_tokens
def repeat_token(tokens, i, solid, chance, others):
    tokens[i] = (tokens[i] + b" ") * chance.choice((2, 2, 3, 50))


@_tokens
def exchange_tokens(tokens, i, solid, chance, others):
    j = chance.choice(solid)
    tokens[i], tokens[j] = tokens[j], tokens[i]


@_tokens
def copy_token(tokens, i, solid, chance, others):
    tokens[i] = tokens[chance.choice(solid)]


@_tokens
def foreign_token(tokens, i, solid, chance, others):
    tokens[i] = chance.choice(TOKEN.findall(chance.choice(others)) or [b""])


@_tokens
def hostile_token(tokens, i, solid, chance, others):
    text = chance.choice(HOSTILE_TEXTS + HOSTILE_NUMBERS)
    tokens[i] = b'"%s"' % text if tokens[i].startswith(b'"') and chance.random() < 0.8 else text


def hostile_number(data, chance, others):
    found = list(NUMBER.finditer(data))
    if not found:
        return hostile_token(data, chance, others)
    at = chance.choice(found)
    return data[: at.start()] + chance.choice(HOSTILE_NUMBERS) + data[at.end() :]


# ---- lines


def _lines(change):
    def changed(data, chance, others):
        lines = data.split(b"\n")
        change(lines, chance.randrange(len(lines)), chance, others)
        return b"\n".join(lines)

    return changed


@_lines
def delete_line(lines, i, chance, others):
    del lines[i : i + chance.choice((1, 1, 1, 3))]


@_lines
def repeat_line(lines, i, chance, others):
    lines[i:i] = lines[i : i + chance.choice((1, 1, 4))] * chance.choice((1, 1, 1, 2, 40))


@_lines
def exchange_lines(lines, i, chance, others):
    j = chance.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]


@_lines
def foreign_lines(lines, i, chance, others):
    foreign = chance.choice(others).split(b"\n")
    j = chance.randrange(len(foreign))
    lines[i:i] = foreign[j : j + chance.choice((1, 1, 3, 8))]


# ---- bytes


def truncate(data, chance, others):
    return data[: chance.randrange(len(data) + 1)]


def flip_bits(data, chance, others):
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 4)) if changed else 0):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def hostile_bytes(data, chance, others):
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice((*HOSTILE_TEXTS, chance.randbytes(chance.choice((1, 2, 8))))) + data[at:]


def nest(data, chance, others):
    """The middle of the text, many brackets deep."""
    opened, closed = chance.choice(NESTS)
    deep = chance.choice((1, 3, 45, 70, 300, 3000))
    a, b = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return data[:a] + opened * deep + data[a:b] + closed * chance.choice((deep, deep, deep - 1, 0)) + data[b:]


def move_block(data, chance, others):
    a, b = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    b, at = min(b, a + 512), chance.randrange(len(data) + 1)
    return data[:at] + data[a:b] + data[at:] if chance.random() < 0.5 else data[:a] + data[b:]


def hostile_integer(data, chance, others):
    """A count, length or address inside a binary file."""
    width = chance.choice((1, 2, 4, 8))
    value = chance.choice(
        (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
    )
    at = chance.randrange(max(1, len(data) - width))
    return data[:at] + (value % (1 << 8 * width)).to_bytes(width, "little") + data[at + width :]


def splice(data, chance, others):
    other = chance.choice(others)
    return data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :]


TEXT_CHANGES = [
    delete_token,
    repeat_token,
    exchange_tokens,
    copy_token,
    foreign_token,
    hostile_token,
    hostile_token,
    hostile_number,
    hostile_number,
    hostile_number,
    delete_line,
    repeat_line,
    exchange_lines,
    foreign_lines,
    truncate,
    flip_bits,
    hostile_bytes,
    nest,
    move_block,
]
BYTE_CHANGES = [truncate, flip_bits, flip_bits, hostile_bytes, move_block, hostile_integer, hostile_integer, splice]
