"""Writes docs/gallery.md, its animations, and the one on the first page, from the table of the gallery.

python docs/site/gallery.py [NAME]...    the pictures of these, or of all
python docs/site/gallery.py --page       the page alone
"""

import sys
from pathlib import Path

from PIL import Image

from whippletree.gallery import Motion, gallery
from whippletree.result.deformation import exaggerated
from whippletree.result.pictures.gif import palette, write_gif

DOCS = Path(__file__).parents[1]
PICTURES = DOCS / "images" / "gallery"
SIZE, FRAMES = 300, 75  # dots and frames of a picture: small enough for a page with all of them
FIRST = ("whippletree", "stewart", "andrews", "space_manipulator")  # on the first page
FIRST_SIZE, FIRST_FRAMES = 230, 60
GROUPS = {
    "Trees": "whippletree double_pendulum arm7 ten_link long_chain suspension satellite",
    "Closed loops": "four_bar slider_crank five_bar andrews bricard ladder stewart leg",
    "Rolling, sliding, touching": "rolling_disc chaplygin_sleigh cart ball_on_table newtons_cradle clutch",
    "Holding on and letting go": "docking space_manipulator",
    "Flexible bodies": "rotating_beam flexible_slider_crank flexible_arm spacecraft",
}
HEAD = """# Gallery

<!-- written by docs/site/gallery.py from src/whippletree/gallery.toml: edit that, and run make pages -->

Each of these is a model that comes with the package. `whippletree demo` lists them, and

```console
$ whippletree demo four_bar -o demo
```

runs one and leaves in `demo/` its numbers (NetCDF), a plot, a report, and an animation that you can turn and scrub;
`--view` opens that in the browser. It also prints the `whippletree run` that does the same.
"""


def page() -> str:
    motions = gallery()
    parts = [HEAD]
    for heading, names in GROUPS.items():
        figures = [_figure(motions.pop(name)) for name in names.split()]
        parts += [f"## {heading}\n", '<div class="gallery">', *figures, "</div>\n"]
    assert not motions, f"in no group: {list(motions)}"
    return "\n".join(parts).rstrip() + "\n"


def _figure(m: Motion) -> str:
    picture = f'<img src="images/gallery/{m.name}.gif" alt="{m.says}" loading="lazy" width="{SIZE}" height="{SIZE}">'
    return f"<figure>{picture}<figcaption>{m.says}<br><code>whippletree demo {m.name}</code></figcaption></figure>"


def draw(m: Motion) -> None:
    run = m.run()
    path = PICTURES / f"{m.name}.gif"
    write_gif(exaggerated(run, m.scale), path, lambda share: None, run.system.name, SIZE, FRAMES)
    print(f"{path.name} {path.stat().st_size / 1e3:.0f} kB", flush=True)


def draw_first() -> None:
    """Four of them side by side, each at its own pace."""
    sources = [Image.open(PICTURES / f"{name}.gif") for name in FIRST]
    frames = []
    for k in range(FIRST_FRAMES):
        strip = Image.new("RGB", (FIRST_SIZE * len(FIRST), FIRST_SIZE), "white")
        for place, source in enumerate(sources):
            source.seek(k * (source.n_frames - 1) // (FIRST_FRAMES - 1))
            strip.paste(
                source.convert("RGB").resize((FIRST_SIZE, FIRST_SIZE), Image.Resampling.LANCZOS),
                (place * FIRST_SIZE, 0),
            )
        frames.append(strip)
    colors = palette(frames, 128)
    frames = [frame.quantize(palette=colors, dither=0) for frame in frames]
    target = DOCS / "images" / "first_look.gif"
    frames[0].save(target, save_all=True, append_images=frames[1:], loop=0, duration=80)
    print(f"{target.name} {target.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    (DOCS / "gallery.md").write_text(page(), "utf-8")
    if sys.argv[1:] != ["--page"]:
        PICTURES.mkdir(parents=True, exist_ok=True)
        for motion in gallery().values():
            if motion.name in (sys.argv[1:] or [motion.name]):
                draw(motion)
        draw_first()
