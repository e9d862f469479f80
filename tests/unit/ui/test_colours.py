"""The page's colours: text is readable on what it stands on, in light and dark, and all are named in one place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from riverrun.ui import FOLDER

STYLES = FOLDER / "styles"
_BLOCK = re.compile(r"(:root[^{]*)\{([^}]*)\}")
_PAIRS = [
    *(
        (text, back)
        for text in ("text", "muted", "accent")
        for back in ("back", "surface", "sunken")
    ),
    ("accent", "accent-soft"),
    ("accent-text", "accent"),
    *((tone, f"{tone}-soft") for tone in ("good", "wait", "bad", "still")),
    *((tone, "surface") for tone in ("good", "wait", "bad", "still")),
]


def blocks() -> list[tuple[str, dict[str, str]]]:
    """The rules of tokens.css: selector and variables."""
    text = re.sub(r"/\*.*?\*/", "", (STYLES / "tokens.css").read_text(), flags=re.DOTALL)
    return [
        (found[1].strip(), dict(re.findall(r"--([\w-]+):\s*([^;]+);", found[2])))
        for found in _BLOCK.finditer(text)
    ]


def themes() -> dict[str, dict[str, str]]:
    (_, light), (_, dark), _, _ = blocks()
    return {"light": light, "dark": {**light, **dark}}


def brightness(colour: str) -> float:
    """The relative luminance of ``#rrggbb``, as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((brightness(one), brightness(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_readable_on_what_it_stands_on(theme: str) -> None:
    colours = themes()[theme]
    found = {pair: round(contrast(colours[pair[0]], colours[pair[1]]), 2) for pair in _PAIRS}

    assert {pair: ratio for pair, ratio in found.items() if ratio < 4.5} == {}


def test_dark_is_the_same_whether_the_system_or_the_reader_chose_it() -> None:
    (_, by_system), (_, by_reader) = (
        block for block in blocks() if "dark" in block[0] or "not" in block[0]
    )

    assert by_system == by_reader


@pytest.mark.parametrize(
    "file",
    [each for each in sorted(STYLES.glob("*.css")) if each.name != "tokens.css"],
    ids=lambda file: file.stem,
)
def test_a_style_names_no_colour_of_its_own(file: Path) -> None:
    text = re.sub(r"/\*.*?\*/", "", file.read_text(), flags=re.DOTALL)

    assert re.findall(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgb|rgba|hsl|hsla)\([^)]*\)", text) == []
