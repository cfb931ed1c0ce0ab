"""Writes SVG drawings of boxes, lines and selectable text, in black, white and grey, so that they can be printed.

A drawing does not know which font a viewer has. So widths of texts are upper bounds: a text never takes more space than
`width_of` returns, with Helvetica, Arial, Liberation Sans or DejaVu Sans.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
BLACK, GREY, PALE, WHITE = "#000000", "#555555", "#eeeeee", "#ffffff"
SIZE, LINE = 12, 16
"""Font size of plain text, and the distance of its lines."""
# Width of letters in units of the font size: the larger one of DejaVu Sans and Arial, and other letters as wide as any.
WIDTHS = {
    letter: width
    for width, letters in {
        0.3: "ijlI'",
        0.35: ",./:;\\| ",
        0.4: "ft()-[]",
        0.45: "r!",
        0.5: 'J"*`',
        0.55: "csz",
        0.6: "kvxyL?_",
        0.65: "0123456789abdeghnopquFT${}",
        0.7: "ABEKPSVXYZ",
        0.75: "CNRU",
        0.8: "DGHOQ&",
        0.85: "w#+<=>^~",
        0.9: "M",
        1.0: "mW%",
        1.05: "@",
    }.items()
    for letter in letters
}
BOLD = 1.15
"""A bold text is at most this many times as wide as a plain text."""
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
BREAKS = re.compile(r"[^.:/_-]*[.:/_-]+|[^.:/_-]+")
Point = tuple[float, float]


def width_of(text: str, size: float = SIZE, bold: bool = False) -> float:
    """Return an upper bound for the width of a text in pixels."""
    return sum(WIDTHS.get(letter, 1.1) for letter in text) * size * (BOLD if bold else 1)


def wrapped(text: str, width: float, size: float = SIZE, bold: bool = False) -> list[str]:
    """Return a text as lines of at most `width` pixels.

    A word that is longer than a line is broken, if possible after a character that names and addresses contain.
    """
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if width_of(longer, size, bold) <= width:
            lines[-1] = longer
            continue
        lines += [""] if lines[-1] else []
        for part in BREAKS.findall(word):
            if lines[-1] and width_of(lines[-1] + part, size, bold) > width:
                lines.append("")
            for letter in part:
                if lines[-1] and width_of(lines[-1] + letter, size, bold) > width:
                    lines.append("")
                lines[-1] += letter
    return lines


@dataclass(frozen=True)
class Mark:
    """A short word in white on black, such as `no writes`."""

    text: str

    @property
    def width(self) -> float:
        """The width in pixels."""
        return width_of(self.text, 11, bold=True) + 8


class Svg:
    """An SVG drawing that grows downward: draw first, `text_of_file` returns the file for the final height."""

    def __init__(self, width: int, title: str, description: str, maker: str = "") -> None:
        """Begin a drawing of `width` pixels; `maker` is a comment at the beginning of the file."""
        self.width, self.maker = width, maker
        self.root = ElementTree.Element(
            "svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "font-family": FONTS}
        )
        ElementTree.SubElement(self.root, "title").text = clean(title)
        ElementTree.SubElement(self.root, "desc").text = clean(description)
        self.background = self.box(0, 0, width, 0, border=WHITE, fill=WHITE)

    def _add(self, tag: str, **attributes: object) -> ElementTree.Element:
        values = {name.replace("_", "-"): value for name, value in attributes.items() if value not in (None, "")}
        texts = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in values.items()}
        return ElementTree.SubElement(self.root, tag, texts)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str = WHITE,
        border: str = BLACK,
        weight: float = 1,
        dashes: str = "",
    ) -> ElementTree.Element:
        """Draw a rectangle; `dashes` is a stroke-dasharray of its border."""
        place = {"x": round(x, 1), "y": round(y, 1), "width": round(width, 1), "height": round(height, 1)}
        return self._add("rect", **place, fill=fill, stroke=border, stroke_width=weight, stroke_dasharray=dashes)

    def line(self, *points: Point, weight: float = 1, dashes: str = "", arrow: bool = False) -> None:
        """Draw a line through points; with `arrow`, a filled arrow head at the last point.

        The last part of a line with an arrow must be horizontal or vertical.
        """
        places = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._add("polyline", points=places, fill="none", stroke=BLACK, stroke_width=weight, stroke_dasharray=dashes)
        if arrow:
            (before_x, before_y), (x, y) = points[-2], points[-1]
            step_x, step_y = (x > before_x) - (x < before_x), (y > before_y) - (y < before_y)
            wings = [
                (x - 9 * step_x + side * 4 * bool(step_y), y - 9 * step_y + side * 4 * bool(step_x)) for side in (1, -1)
            ]
            corners = " ".join(f"{a:g},{b:g}" for a, b in ((x, y), *wings))
            self._add("polygon", points=corners, fill=BLACK)

    def dot(self, x: float, y: float, *, filled: bool, radius: float = 3.5) -> None:
        """Draw a small circle, black or white with a black border."""
        place = {"cx": round(x, 1), "cy": round(y, 1), "r": radius}
        self._add("circle", **place, fill=BLACK if filled else WHITE, stroke=BLACK, stroke_width=1.2)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = SIZE,
        bold: bool = False,
        fill: str = BLACK,
        anchor: str = "",
    ) -> None:
        """Write one line of text whose baseline begins at a point; `anchor` may be middle or end."""
        element = self._add(
            "text",
            x=round(x, 1),
            y=round(y, 1),
            font_size=size,
            font_weight="bold" if bold else "",
            fill="" if fill == BLACK else fill,
            text_anchor=anchor,
        )
        element.text = clean(text)

    def lines(self, x: float, y: float, texts: Sequence[str], *, size: float = SIZE, bold: bool = False) -> float:
        """Write lines below each other, the first baseline at `y`; return the baseline that the next line would get."""
        for number, text in enumerate(texts):
            self.text(x, y + number * (size + 4), text, size=size, bold=bold)
        return y + len(texts) * (size + 4)

    def marks(self, x: float, y: float, marks: Sequence[Mark]) -> None:
        """Draw marks side by side; `y` is the baseline of their text."""
        for mark in marks:
            self.box(x, y - 11, mark.width, 15, fill=BLACK)
            self.text(x + 4, y, mark.text, size=11, bold=True, fill=WHITE)
            x += mark.width + 4

    def text_of_file(self, height: float) -> str:
        """Return the drawing as the text of an SVG file of this height in pixels."""
        tall = round(height)
        self.background.set("height", str(tall))
        self.root.attrib |= {"width": str(self.width), "height": str(tall), "viewBox": f"0 0 {self.width} {tall}"}
        ElementTree.indent(self.root)
        comment = f"<!-- {self.maker} -->\n" if self.maker else ""
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{comment}{ElementTree.tostring(self.root, "unicode")}\n'


Cell = str | bool
"""A cell of a table: a text, or whether something still works: then a circle and yes, or a black square and no."""


def table(svg: Svg, x: float, y: float, columns: Sequence[tuple[str, float]], rows: Sequence[Sequence[Cell]]) -> float:
    """Draw a table with its upper left corner at (x, y), and return the y of its lower end.

    `columns` are (headline, width in pixels). Texts are wrapped in their column.
    """
    right = x + sum(width for _, width in columns)
    lefts = [x + sum(width for _, width in columns[:number]) for number in range(len(columns))]
    y += LINE
    for left, (headline, _) in zip(lefts, columns, strict=True):
        svg.text(left + 4, y, headline, bold=True)
    y += 6
    svg.line((x, y), (right, y), weight=1.5)
    for row in rows:
        tallest = 1
        for left, (_, width), cell in zip(lefts, columns, row, strict=True):
            if isinstance(cell, bool):
                if cell:
                    svg.dot(left + 10, y + LINE - 4, filled=False, radius=4)
                else:
                    svg.box(left + 6, y + LINE - 8, 8, 8, fill=BLACK)
                svg.text(left + 20, y + LINE, "yes" if cell else "no", bold=not cell)
            else:
                lines = wrapped(cell, width - 10)
                svg.lines(left + 4, y + LINE, lines)
                tallest = max(tallest, len(lines))
        y += tallest * LINE + 6
        svg.line((x, y), (right, y), weight=0.5)
    return y


def marks_width(marks: Sequence[Mark]) -> float:
    """Return the width of marks side by side."""
    return sum(mark.width + 4 for mark in marks)


def clean(text: str) -> str:
    """Return a text without the control characters that XML cannot contain."""
    return NOT_XML.sub("?", text)
