"""What `trees.py` calls a difference between two commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from trees import between_commits, differences


def tree(folder: Path, place: str, pieces: str, code: str) -> Path:
    """Return a run's folder with a vocabulary and its manifest."""
    path = folder / place
    path.parent.mkdir(parents=True)
    path.write_text(pieces)
    jobs = f'{{"train_bpe": {{"code": "{code}", "sha256": {{}}}}}}'
    (folder / "manifest.json").write_text(f'{{"jobs": {jobs}}}')
    return folder


@pytest.mark.parametrize(
    ("pieces", "moved", "lines"),
    [
        ("a\nb\n", {"vocab/en": "built/en"}, []),
        ("a\nb\n", {"vocab/en/pieces.txt": "built/en/pieces.txt"}, []),
        ("a\nc\n", {"vocab/en": "built/en"}, ["built/en/pieces.txt: differs"]),
        (
            "a\nb\n",
            {"vocab/e": "built/e"},
            ["vocab/en/pieces.txt: only in the first", "built/en/pieces.txt: only in the second"],
        ),
    ],
    ids=["a folder moved", "a file moved", "another byte", "no folder of that name"],
)
def test_two_commits_may_differ_in_manifests_and_places(tmp_path, pieces, moved, lines):
    before = tree(tmp_path / "before", "vocab/en/pieces.txt", "a\nb\n", "one")
    after = tree(tmp_path / "after", "built/en/pieces.txt", pieces, "two")
    assert between_commits(before, after, moved) == lines


def test_a_kept_training_may_differ_in_the_times_of_its_log_and_in_nothing_else(tmp_path):
    folders = []
    for name, log, weights in (("a", "1", "w"), ("b", "2", "w"), ("c", "1", "x")):
        folder = tmp_path / name / ".state/pretrain_model/en.kept"
        folder.mkdir(parents=True)
        (folder / "kept.json").write_text(
            f'{{"sha256": {{"training_log.parquet": "{log}", "model": "{weights}"}}}}'
        )
        folders.append(tmp_path / name)
    assert differences(*folders[:2]) == []
    assert differences(folders[0], folders[2]) == [
        ".state/pretrain_model/en.kept/kept.json: differs"
    ]
