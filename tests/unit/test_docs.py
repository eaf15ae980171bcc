"""What the documents tell a user to type, to open and to believe."""

from __future__ import annotations

import doctest
import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import requests

import sagevocab
from reproduction.artefacts.registry import declarations
from reproduction.paper.formats import number
from reproduction.paper.tally import met_by_controls, origin_of
from sagevocab.comparison import MEASURES
from sagevocab.state import read_json

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for pages in (
        "*.md",
        "*/README.md",
        "docs/**/*.md",
        ".github/**/*.md",
        "results/reference/**/*.md",
    )
    for path in ROOT.glob(pages)
)
LINK = re.compile(r'\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)|src="(?!https?:)([^"]+)"')

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


@each_page
def test_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for path, anchor, image in LINK.findall(page.read_text(encoding="utf-8")):
        target = page.parent / (path or image or page.name)
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{target}#{anchor}")
    assert broken == []


@each_page
def test_no_row_of_a_table_stands_without_its_header(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").split("\n")
    starts = [i for i, line in enumerate(lines) if line.startswith("|") and not lines[i - 1]]
    assert [lines[i] for i in starts if not re.fullmatch(r"[| :-]+", lines[i + 1])] == []


@pytest.mark.slow  # a step of a release: it needs the network
def test_addresses_are_there() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    addresses = sorted(set(re.findall(r"\]\((https?:[^)#\s]+)", text)))
    found = {url: requests.get(url, stream=True, timeout=30).status_code for url in addresses}
    assert [url for url, status in found.items() if status in (404, 410)] == []


def test_the_example_of_the_method_computes() -> None:
    found = doctest.testfile(str(ROOT / "docs/method.md"), module_relative=False)
    assert found.attempted == 20 and not found.failed


@each_page
def test_no_command_lets_configfile_swallow_its_target(page: Path) -> None:
    # The flag takes several files: what follows them must be an option, `--` or nothing.
    pattern = r"^ *snakemake .*--configfile(?: \S+\.yaml)+(.*)"
    commands = re.findall(pattern, page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [rest for rest in commands if rest.strip() and not rest.strip().startswith("-")] == []


def test_the_readme_links_every_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [
        path.name for path in ROOT.glob("docs/*.md") if f"(docs/{path.name})" not in readme
    ] == []


REFERENCE = ROOT / "results/reference"
IN_README = {  # the README's rows: statements of the claims, in English
    "tokens": "token_ratio",
    "only SaGe": "sage_only_word_initial",
    "only BPE": "bpe_only_word_initial",
    "2 or 3": "bpe_only_short",
    "morphemes": "suffixes_broken_down",
    "neighbours": "ratio_lower",
}
SIGNS = {"reproduced": "✓", "same direction": "≈", "undecided": "?", "not reproduced": "✗"}


def page_text(path: str) -> str:
    """Return a page with single spaces."""
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


def assert_rounds(shown: str, *values: float) -> None:
    """Check that the numbers of a cell are these values, to as many places as it shows."""
    numbers = re.findall(r"−?\d+\.(?:\d+)", shown)
    places = [len(number.split(".")[1]) for number in numbers]
    written = [f"{value:.{place}f}" for value, place in zip(values, places, strict=True)]
    assert written == [number.replace("−", "-") for number in numbers]


def test_the_readme_shows_what_the_reference_results_have() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = pd.read_csv(REFERENCE / "intrinsic/tables/table_controls.csv")
    rows = (
        readme.split("| shuffled words | SaGe | SaGe 1.0 |\n")[1].split("\n\n")[0].splitlines()[1:]
    )
    assert len(rows) == len(IN_README)
    for row, (words, statement) in zip(rows, IN_README.items(), strict=True):
        label, _, random, frequency, counts, blind, shuffled, *ours = row.strip("| ").split(" | ")
        assert words in label
        found = table[(table["id"] == statement) & (table["language"] == "en")]
        assert list(found["tokenizer"]) == ["sage", "sage_released"]
        first = found.iloc[0]
        assert_rounds(random, first["random_mean"], first["random_low"], first["random_high"])
        assert_rounds(frequency, first["frequency"])
        assert_rounds(counts, first["counts"])
        assert_rounds(blind, first["sage_released_zero_mean"])
        assert_rounds(shuffled, first["sage_released_shuffled_mean"])
        for shown, (_, sage) in zip(ours, found.iterrows(), strict=True):
            assert_rounds(shown, sage["ours"])
            assert shown.endswith(SIGNS[sage["verdict"]])
            assert ("**" in shown) == (sage["chance"] == "beyond chance")


def test_the_results_page_shows_rows_of_the_reference_results() -> None:
    page = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    table = (REFERENCE / "intrinsic/tables/table_controls.md").read_text(encoding="utf-8")
    for words, sign in ((" beyond chance", "↑"), (" below chance", "↓"), (" as chance", "")):
        table = table.replace(words, sign)
    cells = [re.split(r" (?<!\\)\| ", line.strip("| ")) for line in table.splitlines()]
    head = ["text", "paper", "random", "least frequent", "counts", "SaGe 1.0 without vectors"]
    head += ["SaGe 1.0, shuffled words", "SaGe", "SaGe 1.0"]
    shown = [cells[0].index(name) + 1 for name in head]
    known = {tuple(row[at] for at in (0, *shown)) for row in cells[2:] if len(row) > max(shown)}
    start = "| counts | without vectors | shuffled words | SaGe | SaGe 1.0 |\n"
    rows = page.split(start)[1].split("\n\n")[0].splitlines()[1:]
    assert len(rows) == 15
    assert {tuple(row.strip("| ").split(" | ")) for row in rows} <= known


def test_the_results_page_counts_as_the_page_of_other_runs_does() -> None:
    results = page_text("docs/results.md")
    page = (REFERENCE / "reruns/README.md").read_text(encoding="utf-8")
    counts = r"- SaGe(?: 1\.0)?: (\d+) of (\d+) statements have the same "
    (halves, total), (halves_1, _), (gensim, _), (gensim_1, _) = re.findall(
        f"{counts}verdict", page
    )
    assert f"SaGe 1.0 has the same one on {halves_1} of {total} statements" in results
    assert f"the printed algorithm on {halves}, and" in results
    assert gensim == gensim_1 and f"{gensim} of 75 verdicts are the same for both" in results
    chance = [map(int, found) for found in re.findall(f"{counts}answer against chance", page)]
    same, asked = map(sum, zip(*chance, strict=True))
    assert f"of their {asked} answers against chance {same} are the same" in results


def test_the_results_page_counts_what_the_readings_of_the_loss_reproduce() -> None:
    table = pd.read_csv(REFERENCE / "readings/tables/table_readings.csv")
    asked = (table["scale"] == "sample") & (table["kind"] == "claim")
    asked &= table["verdict"] != "not measurable here"
    results = page_text("docs/results.md")
    assert table[asked]["reading"].nunique() == 15
    shown = {
        "English": "In English SaGe 1.0 reproduces {released} of {all} statements, four others "
        "{most}, the printed algorithm {printed}, the fewest;",
        "Turkish": "in Turkish SaGe 1.0 reproduces {most} of {all}, the most, as does one "
        "other, the printed algorithm {printed}.",
    }
    for language, rows in table[asked].groupby("language"):
        met = rows["verdict"].eq("reproduced").groupby(rows["reading"]).sum()
        counted = {"all": rows["id"].nunique(), "most": met.max(), **met}
        assert shown[language].format_map(counted) in results, language
        others = (met.drop("released") == met.max()).sum()
        if language == "English":
            assert met["printed"] == met.min() and others == 4
        else:
            assert met["released"] == met.max() and others == 1


def test_the_results_page_says_what_another_sample_and_seed_leave() -> None:
    table = pd.read_csv(REFERENCE / "readings/tables/table_stability.csv")
    shares = (
        table[table["of"] == "pruned"]
        .set_index(["preset", "across", "language"])["mean"]
        .map(lambda share: number(100 * share, ".0f"))
    )
    shown = []
    for preset in ("released", "printed"):
        samples, seeds = shares[preset]["samples"], shares[preset]["seeds"]
        assert seeds["English"] == seeds["Turkish"]
        shown += [samples["English"], samples["Turkish"], seeds["English"]]
    text = "leaves {} and {} %, another seed {} % (the printed algorithm: {} and {} %, {} %)."
    assert text.format(*shown) in page_text("docs/results.md")


def test_the_results_page_says_what_the_initial_size_changes() -> None:
    table = pd.read_csv(REFERENCE / "readings/tables/table_sensitivity.csv")
    own = table[table["preset"] == "released"].set_index(["language", "setting", "value"])
    sizes = [("initial_size", 18_000), ("initial_size", 24_000), ("base", np.nan)]
    shown = [
        [number(own["token_ratio"].loc[(language, *size)].item(), ".2f") for size in sizes]
        for language in ("English", "Turkish")
    ]
    (small, large, usual), (small_tr, large_tr, usual_tr) = shown
    text = (
        f"from 18,000 and 24,000 pieces SaGe 1.0 gives {small} and {large} tokens for one of BPE "
        f"(Turkish: {small_tr} and {large_tr}), from 20,000 {usual} and {usual_tr}."
    )
    assert text in page_text("docs/results.md")


def test_the_page_of_other_runs_says_what_their_prunings_have_in_common() -> None:
    def pruned(folder: str, name: str, language: str) -> set:
        frame = pd.read_parquet(REFERENCE / f"{folder}/{language}.parquet")
        return set(frame.loc[frame[name] >= 0, "piece"]) if name else set(frame["piece"])

    shares = []
    for name in ("", "sage_released", "sage"):
        for language in ("en", "tr"):
            halves = [pruned(f"reruns/prunings/half-{n}", name, language) for n in (1, 2)]
            shares.append(f"{100 * len(halves[0] & halves[1]) / len(halves[0]):.0f}")
    text = (
        "have {} and {} % of pieces in common, what SaGe 1.0 prunes {} and {} %, SaGe {} and {} %."
    )
    page = page_text("results/reference/reruns/README.md")
    assert text.format(*shares) in page
    trainers = []
    for language in ("en", "tr"):
        own = [
            pruned(folder, "sage_released", language)
            for folder in ("intrinsic/prunings", "reruns/prunings/gensim")
        ]
        trainers.append(f"{100 * len(own[0] & own[1]) / len(own[0]):.0f}")
    assert f"({trainers[0]} and {trainers[1]} %)" in page


def test_the_results_page_has_the_differences_of_n_grams_by_lines() -> None:
    data = pd.read_csv(REFERENCE / "lm/tables/table_ngrams.csv")
    own = data[data["tokenizer"] == "SaGe 1.0"].groupby("language")["bits_5_difference"]
    english, turkish = (
        [number(value, "+.3f") for value in own.get_group(language)]
        for language in ("English", "Turkish")
    )
    results = page_text("docs/results.md")
    shown = (
        "{} after 10,000 English lines, {} after 32,000, {} after 100,000 and {} after all 750,000"
    )
    assert shown.format(*english) in results
    assert f"(Turkish: {', '.join(turkish)})" in results
    data = pd.read_csv(REFERENCE / "intrinsic/tables/table_ngrams.csv")
    all_lines = data.groupby(["tokenizer", "language"])["bits_3_difference"].last()
    controls = ("counts", "SaGe 1.0 without vectors", "SaGe 1.0, shuffled words")
    counts, blind, shuffled, again = (
        [number(all_lines[name][language], ".3f") for language in ("English", "Turkish")]
        for name in (*controls, "counts, ranked again")
    )
    shown = "counts need {} and {} bits more than BPE, SaGe 1.0 without vectors {} and {}"
    assert (
        shown.format(*counts, *blind) + ", on shuffled words {} and {}.".format(*shuffled)
        in results
    )
    assert "in both, {} and {} more than BPE".format(*again) in results
    ranges = []
    for order in (3, 5):
        rates = data.groupby(["tokenizer", "language"])[f"bits_{order}_difference"].last().unstack()
        more = rates.loc[list(controls)] - rates.loc["SaGe 1.0"]
        assert more["English"].max() < 5e-4
        ranges += [number(value, ".3f") for value in (more["Turkish"].min(), more["Turkish"].max())]
    assert "by {} to {} (order 5: by {} to {}), in English none".format(*ranges) in results


def test_readme_and_results_page_count_as_the_findings_do() -> None:
    results = page_text("docs/results.md")
    findings = (REFERENCE / "intrinsic/findings.md").read_text(encoding="utf-8")
    found = dict(re.findall(r"- (SaGe(?: 1\.0)?) reproduces (\d+ of the \d+) statements", findings))
    readme = page_text("README.md")
    assert f"{found['SaGe 1.0']} that we can check" in readme
    printed, released = (found[name].replace(" the", "") for name in ("SaGe", "SaGe 1.0"))
    assert f"The algorithm as printed gives {printed} (" in readme
    assert f"SaGe 1.0 reproduces {released}, the printed algorithm {printed}." in results
    (little,) = re.findall(r"Of the reproduced ones, (\d+) say little", findings)
    assert f"Of the latter, {little} say little" in results
    pattern = r"Of (\d+) statements that SaGe(?: 1\.0)? reproduces .* meets (\d+) itself"
    (printed, printed_met), (released, released_met) = re.findall(pattern, findings)
    assert f"{released_met} of {released} and {printed_met} of {printed}." in results
    (measured,) = re.findall(r"How many of the (\d+) statements", findings)
    names = ("SaGe 1.0", "counts", "SaGe 1.0 without vectors", "SaGe 1.0, shuffled words")
    names += ("pruned at random", "SaGe")
    met = [re.search(rf"\| {name} \| ([\d.]+) \|", findings)[1] for name in names]
    counts = "SaGe 1.0 meets {} by its value alone, counts {}, SaGe 1.0 without vectors {}, "
    counts += "on shuffled words {}, pruning at random {} on average, the printed algorithm {}."
    shown = counts.format(*(f"{float(number):.0f}" for number in met))
    assert f"Of {measured} statements measured on all vocabularies, {shown}" in results


def test_the_results_page_says_which_statements_the_direct_controls_meet() -> None:
    results = page_text("docs/results.md")
    records = [
        one
        for one in read_json(REFERENCE / "intrinsic/frames/claims.json")
        if one["verdict"] == "reproduced" and one["controls"] and origin_of(one) == "real"
        if one["meets"] is not None
    ]
    shown = {
        "sage_released": "Of the {}, counts meet {} and SaGe 1.0 without vectors {}, on shuffled "
        "words all.",
        "sage": "Of the printed algorithm's {}, extra tokens meet {} and the algorithm without "
        "vectors {}.",
    }
    own = {}  # statements that neither of the two controls meets
    for sage, counting in (("sage_released", "counts"), ("sage", "extra_tokens")):
        met_by = [(one["id"], met_by_controls(one)) for one in records if one["tokenizer"] == sage]
        direct = (counting, f"{sage}_zero")
        met = [sum(name in controls for _, controls in met_by) for name in direct]
        assert shown[sage].format(len(met_by), *met) in results
        own[sage] = {name for name, controls in met_by if not {*direct} & {*controls}}
        if sage == "sage_released":
            assert all("sage_released_shuffled" in controls for _, controls in met_by)
            lacked = {name for name, controls in met_by if "counts" not in controls}
            assert lacked == {"length_gap", "frequency_rank_sage_ation"}
    assert all("random" in controls for name, controls in met_by if name in own["sage"])
    assert own == {
        "sage_released": set(),
        "sage": {"frequency_rank_sage_e", "frequency_rank_sage_ing"},
    }


def test_the_results_page_has_the_recall_at_morphemes() -> None:
    table = pd.read_csv(REFERENCE / "intrinsic/tables/table_tokenizers.csv")
    table = table[table["text"] == "Training corpus"].set_index(["language", "tokenizer"])
    shown = [
        number(100 * table.loc[(language, name), "morpheme_recall"], ".0f")
        for language in ("English", "Turkish")
        for name in ("SaGe 1.0", "BPE")
    ]
    shares = "({} to {} % of them in English, {} to {} % in Turkish)".format(*shown)
    assert shares in page_text("docs/results.md")


def test_the_results_page_has_what_vectors_of_unigramlm_gain_and_lose() -> None:
    table = pd.read_csv(REFERENCE / "intrinsic/tables/table_evidence.csv")
    own = table[(table["method"] == "probes of vectors") & (table["tokenizer"] == "UnigramLM")]
    own = own[own["significant"].astype(bool)].set_index("task")["difference"]
    shown = [number(100 * own[task], "+.1f") for task in ("ner_tr", "stsb")]
    assert f"({shown[0]} and {shown[1]}, significantly)" in page_text("docs/results.md")


def test_the_results_page_counts_the_rows_in_which_vectors_add() -> None:
    """Of the page's table, by SaGe 1.0's interval: further than counts and without vectors."""
    table = pd.read_csv(REFERENCE / "intrinsic/tables/table_controls.csv")
    table = table[table["tokenizer"] == "sage_released"].set_index(["id", "language"])
    rows = {  # the page's rows, with the sign of the paper's direction
        ("token_ratio", "en"): 1, ("discarded_in_bpe", "en"): 1,
        ("sage_only_word_initial", "en"): 1, ("bpe_only_word_initial", "en"): -1,
        ("bpe_only_short", "en"): 1, ("sage_only_long", "en"): 1,
        ("single_characters_more", "en"): 1,
        ("suffixes_broken_down", "en"): 1, ("suffixes_broken_down", "tr"): 1,
        ("whole_words_more", "en"): 1, ("words_of_5_more", "en"): 1,
        ("neighbours_dip_w5", "en"): 1, ("neighbours_dip_w5", "tr"): 1,
        ("ratio_lower", "en"): -1, ("ratio_lower", "tr"): -1,
    }  # fmt: skip
    blind = ["counts", "sage_released_zero_mean", "sage_released_shuffled_mean"]
    further, shuffled, behind = set(), set(), set()
    for row, sign in rows.items():
        own = table.loc[row]
        low, high = sorted(sign * own[["low", "high"]].astype(float))
        counts, zero, words = sign * own[blind].astype(float)
        if max(counts, zero) < low:
            further.add(row)
            shuffled |= {row} if words >= low else set()
        behind |= {row} if min(counts, zero) > high else set()
    assert further - shuffled == {("suffixes_broken_down", "tr")} and len(further) == 5
    assert behind == {
        ("suffixes_broken_down", "en"), ("neighbours_dip_w5", "tr"), ("ratio_lower", "tr")
    }  # fmt: skip
    page = page_text("docs/results.md")
    assert "In five rows of the [table below]" in page and "In three it goes less far" in page
    assert "goes as far in four of the five" in page


def test_the_results_page_has_what_pickybpes_criterion_prunes() -> None:
    table = pd.read_csv(REFERENCE / "intrinsic/tables/table_overlap.csv")
    own = table[table["control"] == "swallowed"].set_index(["reading", "language"])["mean"]
    shown = [
        number(100 * own[(reading, language)], ".0f")
        for reading in ("SaGe 1.0", "SaGe")
        for language in ("English", "Turkish")
    ]
    text = "prunes {} and {} % of what SaGe 1.0 prunes in English and Turkish, {} and {} % of what"
    assert text.format(*shown) in page_text("docs/results.md")


def test_the_results_page_has_the_masked_models_of_both_versions() -> None:
    table = pd.read_csv(REFERENCE / "lm/tables/table_differences.csv")
    table = table.set_index(["tokenizer", "task"])

    def shown(tokenizer: str, task: str) -> str:
        row = table.loc[(tokenizer, task)]
        half = 100 * (row["high_seeds"] - row["low_seeds"]) / 2
        return f"{number(100 * row['difference'], '+.1f')} ± {half:.1f}"

    page = page_text("docs/results.md")
    for name, tokenizer in (("SaGe", "sage"), ("SaGe 1.0", "sage_released")):
        english, turkish = shown(tokenizer, "ner_en"), shown(tokenizer, "ner_tr")
        assert f"{name} {'has ' if name == 'SaGe' else ''}{english}" in page
        assert f" and {turkish}" in page
    row = table.loc[("sage_released", "sst2")]
    p_values = f"(p = {row['p_value']:.2f}, by Holm {row['p_adjusted']:.2f})"
    assert f"SaGe 1.0's on SST-2, {shown('sage_released', 'sst2')} points {p_values}" in page
    assert not table["significant"].any()


def test_the_results_page_says_by_how_many_pieces_versions_and_controls_differ() -> None:
    table = pd.read_csv(REFERENCE / "controls/table_differences.csv")
    released = (table["pruned_by"] == "SaGe 1.0") | (table["kept_by"] == "SaGe 1.0")
    printed = table.loc[~released, "pieces"]
    shares = []
    for _, rows in table[released].groupby("language", sort=False):
        from_sage = rows[rows["pruned_by"] == "SaGe 1.0"].set_index("kept_by")["pieces"]
        to_sage = rows[rows["kept_by"] == "SaGe 1.0"].set_index("pruned_by")["pieces"]
        for pieces in (from_sage, to_sage):
            shares.append(round(100 * pieces["SaGe 1.0 without vectors"] / pieces["counts"]))
    shown = "by {} to {} % as many pieces; the printed algorithm and its controls differ by "
    shown += "{} to {:,},"
    rounded = (round(printed.min(), -1), round(printed.max(), -1))
    assert shown.format(min(shares), max(shares), *rounded) in page_text("docs/results.md")


def test_the_guide_explains_every_measure_of_compare() -> None:
    guide = (ROOT / "docs/guide.md").read_text(encoding="utf-8")
    assert "\n".join(f"| `{name}` | {what} |" for name, what in MEASURES.items()) in guide


def test_every_target_on_the_pages_is_a_rule() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("workflow/rules/*.smk"))
    rules = set(re.findall(r"(?:rule|as) (\w+)(?::| with:)", text))
    rules |= {re.sub("_domain$", "_quora", name) for name in declarations()}
    page = (ROOT / "docs/reproduce.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:figure|table)_[a-z_]+)`", page)
    assert len(named) > 20
    assert sorted(set(named) - rules) == []


def test_library_citation_and_changelog_have_one_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {sagevocab.__version__}\n" in citation
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(sagevocab.__version__)} \(", changes, re.MULTILINE)


def test_the_address_of_the_repository_is_one_setting() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pages = [ROOT / name for name in ("README.md", "CITATION.cff", "docs/clusters.md")]
    command = re.compile(r"(?:clone|deploy-workflow|repository-code:) \"?(https://[^\s\"]+)")
    found = [command.findall(page.read_text(encoding="utf-8")) for page in pages]
    assert found == [[project["urls"]["Repository"]]] * len(pages)
