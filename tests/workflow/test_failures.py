"""How a run fails: one line that names the file, the line or the key, and nothing half-written."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator

import pytest
import yaml

from checkouts import ROOT
from reproduction.config import load_run
from reproduction.costs import costs_of

GOOD_LINES = "".join(f"The quick brown fox number {n} jumps over the dog.\n" for n in range(300))


def english(**source: object) -> dict:
    return {"language_settings": {"en": {"source": source, "lines": None, "heldout_lines": 10}}}


def error_lines(run: subprocess.CompletedProcess) -> list[str]:
    """Lines of our own, without those that Snakemake repeats from the log of the failed job."""
    return sorted(
        {line.strip() for line in run.stderr.splitlines() if line.strip().startswith("error:")}
    )


@pytest.mark.parametrize(
    ("target", "tokenizers", "lacks"),
    [
        ("figure_ratio", ["sage", "wordpiece"], "bpe"),
        ("table_overlap", ["bpe", "sage"], "controls of it such as random"),
    ],
)
def test_an_artefact_without_what_it_compares_is_refused_before_the_first_job(
    tiny, target: str, tokenizers: list[str], lacks: str
) -> None:
    few = {"tokenizers": tokenizers, "analysis": {"heuristics": []}, "lm": {"enabled": False}}
    (tiny.checkout / "few.yaml").write_text(yaml.safe_dump(few))
    run = tiny("-n", target, extra=("few.yaml",))
    assert run.returncode != 0
    (line,) = error_lines(run)
    assert f"leave nothing for {target} to show; list " in line
    assert lacks in line


def test_a_misspelt_target_gets_a_hint(tiny) -> None:
    run = tiny("-n", "figur_fertility")
    assert run.returncode != 0
    assert "hint: there is no target figur_fertility; near it are figure_fertility" in run.stderr


def test_the_paper_plans_everything(tiny) -> None:
    run = tiny("-n", "all", config=())
    assert run.returncode == 0, run.stderr[-3000:]
    jobs = dict(re.findall(r"^([a-z_0-9]+)\s+(\d+)$", run.stdout + run.stderr, re.MULTILINE))
    assert jobs["measure_rankings"] == "4"  # two languages, two readings
    assert jobs["finetune_model"] == "90"  # ten tasks, three tokenizers, three seeds


@pytest.mark.parametrize("target", ["intrinsic", "all"])
def test_the_page_has_the_costs_of_the_plan(tiny, target: str) -> None:
    run = tiny("-n", target, config=())
    jobs = re.findall(r"^([a-z_0-9]+)\s+(\d+)$", run.stdout + run.stderr, re.MULTILINE)
    costs = costs_of(load_run({}), {rule: int(count) for rule, count in jobs if rule != "total"})
    page = (ROOT / "docs/reproduce.md").read_text(encoding="utf-8")
    [row] = re.findall(rf"^\| `{target}` \|.*", page, re.MULTILINE)
    assert f" {costs.core_hours:.0f} core hours" in row
    assert not costs.gpu_hours or f" {costs.gpu_hours:.0f} hours" in row


def test_without_a_network_the_url_and_the_way_around_are_named(tiny) -> None:
    nowhere = {name: "http://127.0.0.1:9" for name in ("http_proxy", "https_proxy")}
    (tiny.checkout / "few.yaml").write_text(
        "{domains: [], lm: {enabled: false}, probes: {tasks: []}, "
        "language_settings: "
        "{tr: {source: {package: 'turkish-treebanks:data/wiki.conllu', format: conllu}}}}"
    )
    run = tiny("retrieve", config=(), extra=("few.yaml",), environment=nowhere)
    assert run.returncode != 0
    (line,) = error_lines(run)
    assert "https://" in line
    assert "language_settings.en.source.path" in line
    # The table comes first, and one source does not stop the others.
    assert re.search(r"^language_settings\.en\.source .* 12 GB.* to be fetched$", run.stderr, re.M)
    assert (tiny.checkout / "results/paper/retrieved/corpora/tr").exists()


def test_the_names_of_files_reach_no_shell(tiny) -> None:
    name = "a b;touch hacked;$(touch hacked)`touch hacked`'\"&|> \\ new\nline [1] *?~#%é"
    rows = "".join(f'{{"sentence": "good {n}", "label": {n % 2}}}\n' for n in range(40))
    files = {"txt": GOOD_LINES, "jsonl": rows, "list": "▁\n▁a\na\n"}
    for ending, content in files.items():
        (tiny.checkout / f"{name}.{ending}").write_text(content)
    task = {"validation_share": 0.3, "source": {"train": {"path": f"{name}.jsonl"}}}
    override = {
        **english(path=f"{name}.txt", format="text"),
        "run": "names",
        "download_dir": name,
        "tokenizers": ["bpe", "sage", "theirs"],
        "tokenizer_settings": {"theirs": {"method": "external", "path": f"{name}.list"}},
        "task_settings": {"sst2": task},
    }
    (tiny.checkout / "names.yaml").write_text(yaml.safe_dump(override))
    made = ("corpus/en.txt.zst", "tasks/sst2/train.parquet", "vocab/en/theirs/pieces.txt")
    run = tiny("-p", *(f"results/names/{file}" for file in made), extra=("names.yaml",))
    assert run.returncode == 0, run.stderr[-3000:]
    assert not list(tiny.checkout.rglob("hacked*"))


@pytest.fixture
def small_disk(tiny) -> Iterator[Callable[[str], None]]:
    """Mount a small disk as the folder of the run `full`, or mount it again with another size."""
    folder = tiny.checkout / "results/full"
    folder.mkdir(parents=True)

    def mount(options: str) -> None:
        call = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        try:
            subprocess.run(call, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("only root may mount a disk, and not in every container")

    yield mount
    subprocess.run(["umount", str(folder)], check=False)


def test_a_full_disk_is_one_line_and_the_run_resumes_with_more_room(tiny, small_disk) -> None:
    text = (tiny.checkout / "text.txt").read_text(encoding="utf-8")
    (tiny.checkout / "long.txt").write_text(text * 40, encoding="utf-8")
    config = {**english(path="long.txt"), "run": "full"}
    (tiny.checkout / "full.yaml").write_text(yaml.safe_dump(config))
    target = "results/full/corpus/en.sentences.txt.zst"
    small_disk("size=64k")
    run = tiny(target, extra=("full.yaml",))
    (line,) = error_lines(run)
    assert "No space left on device); make room" in line
    assert "Traceback" not in run.stderr
    small_disk("remount,size=20m")
    assert tiny(target, extra=("full.yaml",)).returncode == 0
