"""The program in the browser: viser's, without what it reflects until it is reported what light there is.

A browser without a graphics card takes half a minute to prepare these surroundings, and a recording goes back to them
whenever it begins again. viser's page unpacks its program as text; the words that choose them are changed there. Where
another viser has other words, they stay as they are.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

REFLECTING = "enableDefaultLights:!0,enableDefaultLightsShadows:!0,environmentMap:null"
PLAIN = "enableDefaultLights:!1,enableDefaultLightsShadows:!1,environmentMap:{hdri_data:null}"
CHANGE = f"""<script>{{
const texts = TextDecoder.prototype, decode = texts.decode;
texts.decode = function (...given) {{
  const text = decode.apply(this, given);
  if (!text.includes("{REFLECTING}")) return text;
  texts.decode = decode;
  return text.replace("{REFLECTING}", "{PLAIN}");
}};
}}</script>"""


def page_of(viser_page: str, title: str) -> str:
    """viser's page with a title, and its own light from the start."""
    head, mark, rest = viser_page.partition("<title>")
    if not mark:
        return viser_page
    return f"{head}<title>{escape(title)}</title>{CHANGE}{rest.partition('</title>')[2]}"


def client_page(title: str) -> str:
    """The page that looks at a server."""
    import viser

    return page_of((Path(viser.__file__).parent / "client" / "build" / "index.html").read_text("utf-8"), title)
