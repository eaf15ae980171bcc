"""What `trees.py` calls a difference."""

from __future__ import annotations

from trees import differences


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
