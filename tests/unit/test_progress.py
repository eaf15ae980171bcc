"""What a user sees of a run: the costs of a plan, a line a job, a hint for a misspelt target."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from reproduction import progress
from reproduction.config import load_run
from reproduction.costs import costs_of, seconds_of_jobs
from reproduction.progress import Brief
from reproduction.run import Run
from reproduction.targets import hints


def run_of(**given: object) -> Run:
    return load_run(given)


def record(event: str | None, message: str = "", **fields: object) -> logging.LogRecord:
    made = logging.makeLogRecord({"msg": message, **fields})
    if event:
        made.event = SimpleNamespace(value=event)
    return made


@pytest.fixture
def said(monkeypatch):
    """Send records through `Brief`, ten seconds after its start; return what it shows."""
    clock = iter([0.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock, 10.0))
    brief = Brief(
        logging.Formatter(),
        {"slow": 30.0, "fast": 10.0},
        lambda jobs: f"{sum(jobs.values())} in all.",
    )

    def show(*records: logging.LogRecord) -> list[str]:
        return [brief.format(one) for one in records if brief.filter(one)]

    return show


PLAN = record("run_info", stats={"fast": 2, "slow": 1, "figure_a": 1, "figure_b": 1, "total": 5})


def test_a_plan_is_a_list_of_rules_and_their_costs_once(said) -> None:
    assert said(PLAN, PLAN) == ["5 jobs: 2 fast, 1 slow, 2 figures. 5 in all."]


def test_a_job_is_one_line_with_what_is_left_by_the_costs(said) -> None:
    plan = record("run_info", stats={"fast": 2, "slow": 1, "total": 3})
    started = [
        record("job_info", jobid=number, rule_name=rule, wildcards={"lang": "en"})
        for number, rule in enumerate(("fast", "slow"))
    ]
    ended = [record("job_finished", job_id=number) for number in (0, 1)]
    lines = said(
        *(plan, record(None, "Select jobs to execute..."), record("job_started"), *started),
        *(ended[0], record("progress", done=1, total=3)),
        *(ended[1], record("progress", done=2, total=3)),
    )
    # 10 of 50 seconds of work took 10 seconds, then 40 of 50.
    assert lines[1:] == [
        "[1/3] 0:00:10, about 0:00:40 left: fast lang=en",
        "[2/3] 0:00:10, about 0:00:02 left: slow lang=en",
    ]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_users_mistake_is_the_line_of_the_job(elsewhere: bool, tmp_path) -> None:
    line = "error: fast: a.txt:2: is not UTF-8; convert it"
    (tmp_path / "fast.log").write_text(f"begins\n{line}\n")
    log = [str(tmp_path / "fast.log")]
    failed = record("job_error", "Error in rule fast", rule_name="fast", log=log)
    script = record("error", "RuleException:\nCalledProcessError in file ...")
    brief = Brief(logging.Formatter(), {}, str, elsewhere=elsewhere)
    shown = [brief.format(one) for one in (script, failed) if brief.filter(one)]
    # On this machine the job has printed it.
    assert shown == ([line] if elsewhere else [])


def test_costs_follow_the_lines_the_trainer_and_the_budget() -> None:
    jobs = {"train_embeddings": 5}
    english, gensim = {"languages": ["en"]}, {"word2vec": {"trainer": "gensim"}}
    whole = costs_of(run_of(**english, **gensim), jobs).core_hours
    half = {"language_settings": {"en": {"lines": 375_000}}}
    assert whole == pytest.approx(5 * 2162 / 3600)
    assert costs_of(run_of(**english, **gensim, **half), jobs).core_hours == pytest.approx(
        5 * 1082 / 3600
    )
    assert costs_of(run_of(**english, word2vec={"trainer": "blocks"}), jobs).core_hours < whole / 5
    trained = costs_of(run_of(lm={"gpus": 4}), {"pretrain_model": 6})
    assert (trained.gpu_hours, trained.core_hours) == (6 * 24 * 4, 0)
    assert (
        costs_of(
            run_of(lm={"gpus": 1, "pretrain": {"steps": 4700}}), {"pretrain_model": 1}
        ).gpu_hours
        == 24
    )
    assert str(trained) == "About 0.0 core hours, 576 GPU hours."
    assert seconds_of_jobs(run_of())["pretrain_model"] == 24 * 3600
    small = {"gpus": 0, "causal": {"lines": 32_000}}  # two layers of 256 units: 8 minutes
    assert 400 < seconds_of_jobs(run_of(lm=small))["train_causal"] < 500


def test_costs_follow_the_presets_of_the_builds() -> None:
    english = {"languages": ["en"], "language_settings": {"en": {"lines": 750_000}}}
    hours = {
        preset: costs_of(
            run_of(
                **english,
                tokenizers=["bpe", "sage"],
                tokenizer_settings={"sage": {"preset": preset, "seeds": 1}},
                analysis={"heuristics": []},
                lm={"enabled": False},
            ),
            {"build_sage": 1},
        ).core_hours
        for preset in ("printed", "released")
    }
    assert hours["released"] > 5 * hours["printed"]


@pytest.mark.parametrize(("name", "lines"), [("text.txt", 35), ("text.txt.xz", 100)])
def test_lines_of_a_local_text_are_by_its_size(tmp_path, name: str, lines: int) -> None:
    text = tmp_path / name
    text.write_bytes(b"a" * 3500)
    local = {"en": {"lines": None, "source": {"path": str(text)}}}
    run = run_of(languages=["en"], language_settings=local)
    without_start = seconds_of_jobs(run)["index_words"] - 2
    assert without_start == pytest.approx(26 * lines / 750_000)


def test_downloads_are_what_the_catalogue_says_of_each_set_once() -> None:
    sets = {"languages": ["en", "tr"], "domains": ["legal"], "tasks": ["cola"]}
    few = {"probes": {"tasks": ["cola"]}, "lm": {"enabled": False}}
    jobs = {"retrieve_source": 5}
    part = costs_of(run_of(**sets, **few), jobs).downloads
    # 300 MB of the English text, all of the Turkish, the bills, and a task with two splits.
    assert part == 300e6 + 0.6e9 + 176e6 + 0.3e6
    whole = {"language_settings": {"en": {"lines": None}}}
    assert costs_of(run_of(**sets, **few, **whole), jobs).downloads == part + 12e9 - 300e6


def test_a_misspelt_target_gets_the_nearest_and_values_of_options_none() -> None:
    targets = ["figure_fertility", "table_overlap", "vocabularies", "all"]
    given = ["--cores", "2", "--executor", "slurm", "config/demo.yaml", "all", "figur_fertility"]
    [line] = hints(given, targets, lambda file: False)
    assert "no target figur_fertility; near it are figure_fertility;" in line


def test_a_misspelt_file_gets_the_nearest_and_one_that_is_made_none() -> None:
    targets = ["figure_fertility", "results/demo/figures/figure_fertility.pdf", "all"]
    given = ["results/demo/figures/fertilty.pdf", "results/demo/figures/figure_fertility.png"]
    [line] = hints(given, targets, lambda file: file == given[1])
    assert f"no target {given[0]}; near it are {targets[1]};" in line
