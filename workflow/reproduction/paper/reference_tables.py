"""Tables and a figure over results/reference/controls, from the answers that are committed there.

docs/appendix/statistics.md has the rules, the README of the folder how its runs were made.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from reproduction.paper.code_models import table_models
from reproduction.paper.code_samples import NAMES, table_samples
from reproduction.paper.control_causal import FAMILIES, read_models, table_causal
from reproduction.paper.control_pieces import LANGUAGES, table_overlap_sizes, table_pieces_differ
from reproduction.paper.control_vectors import table_vectors
from reproduction.paper.cut_models import table_cut
from reproduction.paper.distances import distance_rows, figure_distances, table_distances
from reproduction.paper.released_program import table_released_program
from reproduction.paper.style import Styles
from reproduction.paper.table import Table, write_csv
from reproduction.parquet import read_parquet
from sagevocab.files import read_json, write_text


def write_reference_tables(reference: Path, output: Path, style: Styles) -> None:
    """Write every table as csv and Markdown, at the same place below `output` as in `reference`.

    The figure of distances is beside them.

    Args:
        reference: results/reference.
        output: results/reference, or a copy's folder.
        style: of the figure, matplotlib style files.

    Raises:
        UserError: a file is missing or damaged.
    """
    tables = [
        *control_tables(reference / "controls"),
        ("table_distances", table_distances(_distances(reference))),
    ]
    for place, table in tables:
        path = output / "controls" / place
        write_csv(path.with_suffix(".csv"), table.data)
        write_text(path.with_suffix(".md"), table.markdown())
    figure = output / "controls/figure_distances"
    files = {form: figure.with_suffix(f".{form}") for form in ("pdf", "png")}
    figure_distances(_distances(reference), **files, style=style)


def _distances(reference: Path) -> pd.DataFrame:
    readings = reference / "readings/tables/table_readings.csv"
    return distance_rows(readings, reference / "intrinsic/frames/claims.parquet")


def control_tables(controls: Path) -> Iterator[tuple[str, Table]]:
    """Yield the place of each table below `controls`, without an ending, and the table.

    controls: results/reference/controls.
    """
    sizes = [path for path in controls.glob("*/*.parquet") if path.parent.name.isdigit()]
    sizes.sort(key=lambda path: (int(path.parent.name), path.stem))
    yield "table_overlap_sizes", table_overlap_sizes(sizes)
    of_one_size = [path for path in sizes if path.parent.name == "16000"]
    yield "table_pieces_differ", table_pieces_differ(of_one_size)
    for name, families in FAMILIES.items():
        models = read_models([controls / name / f"{language}.parquet" for language in ("en", "tr")])
        yield f"{name}/table_causal", table_causal(models, families)
    codes = controls / "codes"
    yield "codes/table_samples", table_samples(read_parquet(codes / "samples.parquet"))
    yield "codes/table_cut", table_cut(read_parquet(codes / "cut.parquet"), NAMES)
    yield "codes/table_models", table_models(read_parquet(codes / "models.parquet"))
    answers = [controls / f"vectors/{task}.parquet" for task in ("ner_tr", "stsb")]
    yield "vectors/table_vectors", table_vectors(answers)
    pruned = {
        LANGUAGES[language]: read_json(controls / f"released_program/{language}.json")
        for language in ("en", "tr")
    }
    yield "released_program/table_released_program", table_released_program(pruned)
