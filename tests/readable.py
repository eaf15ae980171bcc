"""What a reader of a figure can read: every text, and all that is drawn."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes


def assert_readable(figure) -> None:
    """Check that no text leaves the page, stands on another or is smaller than 7 points."""
    texts = list(drawn_texts(figure))
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    page = figure.bbox
    for index, (text, box) in enumerate(boxes):
        assert texts[index].get_fontsize() >= 7, text
        assert page.x0 <= box.x0 and box.x1 <= page.x1, text
        assert page.y0 <= box.y0 and box.y1 <= page.y1, text
        clashes = [other for other, place in boxes[index + 1 :] if box.overlaps(place)]
        assert not clashes, (text, clashes)


def assert_nothing_is_cut(figure) -> None:
    """Check that every point and vertex that is drawn lies within the limits of its axes.

    What has no place on an axis, such as a share of 0 on a logarithmic one, is not drawn.
    """
    figure.draw_without_rendering()
    for axes in filter(Axes.get_visible, figure.axes):
        for artist in [*axes.lines, *axes.patches, *axes.collections]:
            for place in vertices(artist):
                inside = axes.bbox.padded(0.5).contains(*place)
                assert inside, (axes.get_title("left"), artist, place, axes.bbox)


def vertices(artist) -> np.ndarray:
    """Return the vertices of a line, a patch or a collection on the page: float[n, 2]."""
    paths = artist.get_paths() if hasattr(artist, "get_paths") else [artist.get_path()]
    places = [artist.get_transform().transform(path.vertices[_drawn(path)]) for path in paths]
    places = np.concatenate(places) if places else np.empty((0, 2))
    return places[np.isfinite(places).all(axis=1)]


def _drawn(path) -> np.ndarray:
    """Return which vertices are places: the code that closes a polygon has none."""
    known = np.ones(len(path.vertices), dtype=bool)
    return known if path.codes is None else known & (path.codes != path.CLOSEPOLY)


def drawn_texts(figure):
    """Yield every text of a figure; a tick outside its axis is not drawn."""
    figure.draw_without_rendering()
    for legend in figure.legends:
        yield from legend.get_texts()
    if figure._supxlabel is not None:
        yield figure._supxlabel
    for axes in filter(Axes.get_visible, figure.axes):
        ticks = [
            tick.label1
            for axis in (axes.xaxis, axes.yaxis)
            for tick in axis.get_major_ticks()
            if min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
        ]
        titles = (axes.title, axes._left_title)
        for text in [*ticks, *axes.texts, axes.xaxis.label, axes.yaxis.label, *titles]:
            if text.get_visible() and text.get_text().strip():
                yield text
