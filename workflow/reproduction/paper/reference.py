"""Reference results: a finished run's small artefacts in one folder that can be committed.

Tables, figures, the measurements that they are drawn from, the manifest of the run, and a page
(workflow/report/reference.md.jinja) that describes the texts of the run and its settings that are
not the paper's; of vocabularies also claims, findings, the compared tokenizers and what each seed
pruned. Texts are left out.
"""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.manifest import what_made
from reproduction.paper.formats import listed, page_environment
from reproduction.paper.frames import LARGEST_FRAMES, write_frames
from reproduction.paper.inputs import read_paper_values
from reproduction.paper.notes import budget_note
from reproduction.paper.report import differences
from reproduction.parquet import read_parquet, write_parquet
from sagevocab.errors import UserError
from sagevocab.files import atomic_folder, file_digest, read_json, write_text
from sagevocab.pieces import read_pieces

log = logging.getLogger(__name__)


def build_reference(
    output: Path | str,
    files: Sequence[Path | str],
    *,
    template: Path | str,
    texts: Sequence[Mapping[str, Any]],
    run: Mapping[str, Any],
    paper: Path | str,
    command: str,
    calls: Mapping[str, Mapping[str, Any]] | None = None,
    results: Path | str = "",
    sources: Sequence[Mapping[str, str]] = (),
    tokenizers: Sequence[Path | str] = (),
    prunings: Sequence[Path | str] = (),
) -> None:
    """Copy `files` and the run's manifest into the folder `output`, and write its page.

    Args:
        output: the folder; one that is there is replaced.
        files: pages, figures and tables to copy.
        template: of the page.
        texts: name, title, licence, paper (title of the paper's text), in_paper (whether it is that
            one), summary (path of a `summary.json` on it).
        run: as for the report.
        paper: `paper_values.yaml`.
        command: what was run.
        calls: of `write_frames`, for the run's folder `results`.
        results: the run's folder.
        sources: title and file of each local file that the run reads.
        tokenizers: folders to copy.
        prunings: `ablations.parquet` of every tokenizer that is pruned.

    Raises:
        UserError: a task is constructed.
    """
    if run["constructed"]:
        names = ", ".join(run["constructed"])
        raise UserError(
            f"reference: {names} are constructed tasks; reference results are of real ones"
        )
    output, manifest = Path(output), Path(results) / "manifest.json"
    with atomic_folder(output, replace=True) as folder:
        for file in map(Path, files):
            place = folder / (file.parent.name if file.parent.name in ("figures", "tables") else "")
            place.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place / file.name)
        if manifest.is_file():
            shutil.copyfile(manifest, folder / manifest.name)
        for tokenizer in tokenizers:
            _copy_tokenizer(Path(tokenizer), folder / "tokenizers")
        heavy = write_frames(folder / "frames", calls, Path(results)) if calls else []
        write_prunings(list(map(Path, prunings)), folder / "prunings")
        lm = run["settings"].get("lm")
        page = _render(
            template,
            run=run,
            command=command,
            commits=what_made(manifest)[0],
            budget=budget_note(lm["pretrain"], lm["finetune"]) if run["models"] else "",
            texts=[{**text, **read_json(text["summary"])} for text in texts],
            sources=sources,
            differences=list(differences(run, read_paper_values(paper))),
            heavy=heavy,
        )
        write_text(folder / "README.md", page)
    log.info("%s: %d files", output, len(list(output.rglob("*"))))


# --- files


def _copy_tokenizer(tokenizer: Path, output: Path) -> None:
    """Copy what `AutoTokenizer.from_pretrained` reads, the list of pieces and the model card."""
    folder = output / tokenizer.parent.name / tokenizer.name
    folder.mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "pieces.txt", "README.md"):
        shutil.copyfile(tokenizer / name, folder / name)


def write_prunings(files: Sequence[Path], output: Path) -> None:
    """Write what every tokenizer of a language pruned, a file a language.

    With `pieces.txt` of the vocabulary that all start from, it gives every vocabulary again. The
    column of a tokenizer is the order in which it pruned a piece, from 0 on, or -1.
    """
    languages = dict.fromkeys(file.parents[1].name for file in files)
    for language in languages:
        of_language = [file for file in files if file.parents[1].name == language]
        pieces = read_pieces(of_language[0].parents[1] / "bpe_initial" / "pieces.txt")
        columns: dict[str, Any] = {"piece": pd.Series(pieces, dtype="str")}
        for file in of_language:
            order = read_parquet(file, ["piece", "order"]).set_index("piece")["order"]
            columns[file.parent.name] = order.reindex(pieces, fill_value=-1).to_numpy(np.int32)
        write_parquet(output / f"{language}.parquet", pd.DataFrame(columns))


# --- the page


def _render(template: Path | str, **values: Any) -> str:
    """Return the page; what the template leaves empty takes no lines."""
    filters = {
        "digest": file_digest,
        "name": lambda path: Path(path).name,
    }
    environment = page_environment(template, filters)
    page = environment.get_template(Path(template).name).render(
        listed=listed,
        largest_frames=LARGEST_FRAMES,
        **values,
    )
    return re.sub(r"\n{3,}", "\n\n", page).rstrip("\n") + "\n"
