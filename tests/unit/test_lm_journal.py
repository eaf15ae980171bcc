from __future__ import annotations

import math

import pandas as pd
import pytest

from sagevocab.lm import live as live_module
from sagevocab.lm.journal import NO_VALIDATION, Journal, Scale, Speed
from sagevocab.lm.live import Live
from sagevocab.lm.training import Clock, Progress

SCALE = Scale(
    rows=10,
    length=20,
    corpus_rows=100,
    corpus_tokens=1800,
    corpus_characters=5000,
    flops=3e6,
    peak=1e7,
)
VALIDATED = NO_VALIDATION | {
    "heldout_bits_per_character": 2.5,
    "heldout_word_accuracy": 0.25,
    "heldout_loss": 3.5,
    "heldout_accuracy": 0.5,
}


def test_speed_is_that_of_late():
    speed = Speed(window=3.0)
    speed.add(100.0)
    assert speed.per_second() == 0.01
    speed.add(2.0)  # the first one is forgotten: it compiles
    assert speed.per_second() == 0.5
    for _ in range(10):
        speed.add(1.0)
    assert speed.per_second() == pytest.approx(1.0)
    speed.add(50.0)  # longer than the window: it alone counts
    assert speed.per_second() == pytest.approx(1 / 50)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "live"


def journal_of(progress: Progress, live: Live, spent: float = 0.0) -> Journal:
    journal = Journal(SCALE, progress, Clock(progress.seconds), live)
    journal.begin(spent)
    return journal


def do(journal: Journal, progress: Progress, seconds: float, validation=NO_VALIDATION) -> None:
    progress.updates += 1
    progress.seconds = seconds
    journal.record(loss=4.0, rate=1e-3, duration=0.5, waited=0.25, validation=validation)


def test_a_row_says_what_was_seen_and_how_fast(folder):
    progress = Progress()
    journal = journal_of(progress, Live(None))
    do(journal, progress, 2.0)
    do(journal, progress, 3.0)
    first, second = journal.frame().to_dict("records")
    assert (second["step"], second["epoch"], second["tokens"]) == (2, 0.2, 360)
    assert second["characters"] == 1000
    assert second["tokens_per_second"] == 400  # two updates a second of 10 rows of 20
    assert second["peak_share"] == pytest.approx(0.6)
    assert (first["waiting"], second["waiting"]) == (0.125, 0.0)
    assert math.isnan(second["heldout_loss"])


def test_the_time_left_is_by_this_sittings_pace(caplog):
    # Half was done in 1000 s; this sitting did a tenth in 5 s.
    progress = Progress(updates=5, seconds=1000.0)
    progress.log = {"step": []}
    journal = journal_of(progress, Live(None), spent=0.5)
    do(journal, progress, 1005.0, VALIDATED)
    caplog.set_level("INFO")
    journal.tell(0.6, validated=True)
    pace, heldout = (record.getMessage() for record in caplog.records)
    assert "update 6 (60 %)" in pace
    assert pace.endswith("400 tokens/s (60.0% of the peak), waiting for data 5.0 %, 0:00:20 left")
    assert heldout.startswith("held-out words: 2.500 bits per character, 25.0 % right; 3.500 nats")


def test_log_and_curve_are_renewed_at_a_validation(folder):
    progress, live = Progress(), Live(folder)
    journal = journal_of(progress, live)
    do(journal, progress, 1.0)
    journal.tell(0.5, validated=False)
    assert not folder.exists()
    do(journal, progress, 2.0, VALIDATED)
    journal.tell(1.0, validated=True)
    live.close()
    assert {path.name for path in folder.iterdir()} == {live_module.LOG, live_module.CURVE}
    assert pd.read_parquet(folder / live_module.LOG).equals(journal.frame())
    assert (folder / live_module.CURVE).read_bytes().startswith(b"\x89PNG")


def test_a_curve_that_can_not_be_written_stops_nothing(folder, caplog):
    folder.write_text("a file where the folder should be")
    live = Live(folder)
    live.show(pd.DataFrame({"step": [1]}))
    live.close()
    assert "could not be written" in caplog.text
