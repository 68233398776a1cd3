"""Small charts as inline SVG; the numbers beside them say the same."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

_WIDTH, _HEIGHT = 600, 90
_POINTS = 2


def stacked(parts: Mapping[str, int], label: str) -> str:
    """One bar, its parts as wide as their numbers; the class of each is its name."""
    total = sum(parts.values())
    if not total:
        return ""
    bars, left = [], 0.0
    for name, number in parts.items():
        if number:
            width = max(2.0, _WIDTH * number / total)
            bars.append(
                f'<rect class="c-{html.escape(name)}" x="{left:.1f}" y="0" '
                f'width="{width:.1f}" height="18"><title>{html.escape(name)} '
                f"{number:,}</title></rect>"
            )
            left += width
    said = ", ".join(f"{number:,} {name}" for name, number in parts.items() if number)
    return _svg(max(left, 1), 18, f"{label}: {said}", "".join(bars))


def rate(samples: Sequence[tuple[float, int]], label: str) -> str:
    """Records a second over time."""
    points: list[tuple[float, float]] = []
    before = (0.0, 0)
    for at, records in samples:
        if at > before[0]:
            speed = (records - before[1]) / (at - before[0])
            points.append((at, speed))
            before = (at, records)
    if len(points) < _POINTS:
        return ""
    end, top = points[-1][0], max(speed for _, speed in points) or 1
    line = " ".join(
        f"{_WIDTH * at / end:.1f},{_HEIGHT - (_HEIGHT - 4) * speed / top:.1f}"
        for at, speed in points
    )
    drawn = (
        f'<polyline points="0,{_HEIGHT} {line} {_WIDTH},{_HEIGHT}" class="area"/>'
        f'<polyline points="{line}" class="line"/>'
    )
    said = f"{label}: at most {top:,.0f} records a second, in {end:,.1f} seconds"
    return _svg(_WIDTH, _HEIGHT, said, drawn)


def _svg(width: float, height: float, label: str, inner: str) -> str:
    return (
        f'<svg role="img" aria-label="{html.escape(label)}" '
        f'viewBox="0 0 {width:.1f} {height}" preserveAspectRatio="none" '
        f'height="{height}">{inner}</svg>'
    )
