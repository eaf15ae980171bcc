"""What a reader of a figure can read: no text leaves it, stands on another or is small."""

from __future__ import annotations

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
