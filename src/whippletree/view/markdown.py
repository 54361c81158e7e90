"""Text of others within the browser's markdown, whose HTML is neither escaped nor sanitized there."""

from __future__ import annotations


def literal(text: str) -> str:
    """The text as it is written, whatever markdown or HTML it looks like.

    >>> literal("<b>a</b>")
    '&#60;b&#62;a&#60;&#47;b&#62;'
    """
    return "".join(c if c.isalnum() else f"&#{ord(c)};" for c in text)
