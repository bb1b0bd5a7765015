"""Charts as SVG text, in plain Python: rows of dots or bars, one panel beside another, light background.

chart() is pure: the same figures give the same file.
"""

import math
from xml.sax.saxutils import escape

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]  # Okabe and Ito: told apart by all
INK, FAINT, PAPER = "#222222", "#d8d8d8", "#fdfdfb"
FONT = "font-family='system-ui, sans-serif'"
ROW, LABEL, PANEL, GAP, TOP, BOTTOM = 15, 210, 330, 40, 74, 48  # pixels


class Scale:
    """Values to pixels, linear or logarithmic; values outside are drawn on the edge."""

    def __init__(self, low, high, left, width, logarithmic):
        self.low, self.high, self.left, self.width, self.logarithmic = low, high, left, width, logarithmic

    def _position(self, value):
        return math.log(value) if self.logarithmic else value

    def __call__(self, value):
        value = min(max(value, self.low), self.high)
        low, high = self._position(self.low), self._position(self.high)
        return self.left + self.width * (self._position(value) - low) / (high - low)

    def ticks(self):
        if self.logarithmic:
            candidates = [digit * 10.0**power for power in range(-4, 7) for digit in (1, 2, 5)]
            candidates += [0.7, 0.8, 0.9, 1.1, 1.25, 1.5] if self.high / self.low < 12 else []
            return sorted(t for t in candidates if self.low <= t <= self.high)
        step = nice_step((self.high - self.low) / 6)
        first = math.ceil(self.low / step - 1e-9)
        return [i * step for i in range(first, int(self.high / step + 1e-9) + 1)]


def nice_step(about):
    """The 1, 2 or 5 times a power of ten that is at least `about`."""
    power = 10.0 ** math.floor(math.log10(about))
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= about * (1 - 1e-9))


def _number(value):
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def _text(x, y, text, anchor="start", size=11, colour=INK, weight="normal"):
    return (f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' font-size='{size}' fill='{colour}' "
            f"font-weight='{weight}' {FONT}>{escape(text)}</text>")


def _range(panels, logarithmic, reference, limits):
    if limits:
        return limits
    values = [v for _, rows in panels for _, cells in rows for v in cells.values() if v is not None]
    values += [reference] if reference is not None else []
    low, high = min(values, default=1.0), max(values, default=1.0)
    if logarithmic:
        return low / 1.1, high * 1.1
    return min(0.0, low), (high or 1.0) * 1.05


def _mark(scale, style, value, y, index, count, colour):
    if style == "dots":
        outside = not scale.low <= value <= scale.high
        return (f"<circle cx='{scale(value):.1f}' cy='{y + ROW / 2:.1f}' r='3.6' fill='{PAPER if outside else colour}' "
                f"stroke='{colour}' stroke-width='1.4'/>")
    height = (ROW * count - 3) / count
    start = scale(0 if not scale.logarithmic else scale.low)
    return (f"<rect x='{start:.1f}' y='{y + 1.5 + index * height:.1f}' width='{max(scale(value) - start, 0.5):.1f}' "
            f"height='{height - 1:.1f}' fill='{colour}'/>")


def chart(title, panels, series, unit, reference=None, logarithmic=False, limits=None, style="bars", note=""):
    """SVG of panels [(heading, [(label, {series: value or None})])], drawn side by side over one scale.

    reference: a value with a line of its own. limits: (low, high); dots outside are hollow, on the edge."""
    row_height = ROW * (len(series) if style == "bars" else 1)
    height = TOP + BOTTOM + row_height * max(len(rows) for _, rows in panels)
    width = (LABEL + PANEL + GAP) * len(panels) + 20
    low, high = _range(panels, logarithmic, reference, limits)
    out = [f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' "
           f"height='{height}' role='img'>", f"<title>{escape(title)}</title>",
           f"<rect width='{width}' height='{height}' fill='{PAPER}'/>", _text(16, 24, title, size=15, weight="bold")]
    x = 16.0
    for name, colour in zip(series, COLOURS):
        out.append(f"<circle cx='{x + 5:.1f}' cy='40' r='4.5' fill='{colour}'/>")
        out.append(_text(x + 14, 44, name))
        x += 30 + 6.6 * len(name)
    if note:
        out.append(_text(x + 10, 44, note, colour="#666666"))
    for position, (heading, rows) in enumerate(panels):
        left = 10 + position * (LABEL + PANEL + GAP)
        scale = Scale(low, high, left + LABEL, PANEL, logarithmic)
        out += _panel(scale, heading, rows, series, unit, reference, style, left, row_height)
    out.append("</svg>")
    return "\n".join(out) + "\n"


def _panel(scale, heading, rows, series, unit, reference, style, left, row_height):
    bottom = TOP + row_height * len(rows)
    out = [_text(scale.left, TOP - 10, heading, weight="bold")]
    for tick in scale.ticks():
        x = scale(tick)
        out.append(f"<line x1='{x:.1f}' y1='{TOP}' x2='{x:.1f}' y2='{bottom}' stroke='{FAINT}'/>")
        out.append(_text(x, bottom + 14, _number(tick), "middle", 10))
    out.append(_text(scale.left + scale.width / 2, bottom + 32, unit, "middle"))
    for number, (label, cells) in enumerate(rows):
        y = TOP + number * row_height
        out.append(_text(scale.left - 8, y + row_height / 2 + 4, label, "end", 10.5))
        if style == "dots":
            out.append(f"<line x1='{scale.left}' y1='{y + ROW / 2:.1f}' x2='{scale.left + scale.width}' "
                       f"y2='{y + ROW / 2:.1f}' stroke='{FAINT}' stroke-dasharray='1 3'/>")
        for index, name in enumerate(series):
            if cells.get(name) is not None:
                out.append(_mark(scale, style, cells[name], y, index, len(series), COLOURS[index % len(COLOURS)]))
    if reference is not None:
        x = scale(reference)
        out.append(f"<line x1='{x:.1f}' y1='{TOP - 4}' x2='{x:.1f}' y2='{bottom}' stroke='{INK}' stroke-width='1.2'/>")
    return out
