"""What the studies' figures and tables compare."""

STUDY_LANGUAGES = LANGUAGES if READINGS else []
# Tokenizers of the run that are a preset as it stands: the readings at full size.
FULL_SIZE = [
    name
    for name in tokenizers_of_method("sage")
    if "bpe" in TOKENIZERS and not overrides(setting("tokenizer_settings", name))
]
RANKED_TOKENIZERS = tokenizers_of_method("sage")
STUDY_FIGURES = ["figure_readings"] if READINGS else []
STUDY_TABLES = [
    *(["table_readings", "table_readings_claims"] if READINGS else []),
    *(["table_stability"] if VARIED else []),
    *(["table_sensitivity"] if STUDY_BUILDS["sensitivity"] else []),
]
FIGURES = [*FIGURES, *STUDY_FIGURES, *(["figure_rankings"] if RANKED_TOKENIZERS else [])]
TABLES = [*TABLES, *STUDY_TABLES]
COUNTED = ("frequencies.parquet", "fertility.parquet", "neighbours.parquet", "lines.parquet")


def reading_title(name):
    """Preset of a reading and the keys that override it."""
    return title_of_reading(reading(name))


def study_readings():
    """The readings of the loss as rows: what each is called and what it is."""
    return [{"name": name, "label": reading_label(name), **reading(name)} for name in READINGS]


def full_size_readings():
    """The run's tokenizers that are a reading at full size, as rows."""
    rows = zip(FULL_SIZE, labels_of(FULL_SIZE))
    return [{"name": name, "label": label, "preset": preset_title(name)} for name, label in rows]


def intrinsic_run():
    """What claims about the training corpora have to know of a run."""
    return {
        "folder": result(""),
        "languages": LANGUAGES,
        "domains": {},
        "tasks": {},
        "lm_tokenizers": [],
        "seeds": [],
        "seed": config["seed"],
        "final_size": config["vocabulary"]["final_size"],
        "names": text_names(),
    }


def full_size_run():
    """The run as far as the readings at full size go; None without any."""
    tokenizers = {"bpe": None, **{name: preset_title(name) for name in FULL_SIZE}}
    return {**intrinsic_run(), "tokenizers": tokenizers} if FULL_SIZE else None


def study_run(*studies):
    """Some studies as a run, whose tokenizers are the builds."""
    builds = {
        f"{study}/{name}/{seed}": reading_title(build["reading"])
        for study in studies
        for name, build in STUDY_BUILDS[study].items()
        for seed in (STUDY_SEEDS if study == "readings" else STUDY_SEEDS[:1])
    }
    initial_size = config["vocabulary"]["initial_size"]
    return {**intrinsic_run(), "initial_size": initial_size, "tokenizers": {"bpe": None, **builds}}


def study_counts(wildcards):
    """All that the readings are judged by in a language; nothing without readings."""
    lang, size = wildcards.lang, config["vocabulary"]["initial_size"]
    others = [f"studies/bpe/{lang}/1.{size}/pieces.txt", f"studies/samples/{lang}/1.words.npz"]
    readings = [folder for name in READINGS for folder in study_folders("readings", lang, name)]
    return [
        *(
            f"{folder}/{name}"
            for folder in [*readings, *study_baselines(lang)]
            for name in ("pieces.txt", *COUNTED)
            if READINGS
        ),
        *(result(path) for path in others if READINGS),
    ]


def full_size_counts(wildcards):
    """The same of the run's own tokenizers."""
    lang, tokenizers = wildcards.lang, ["bpe", *FULL_SIZE] if FULL_SIZE and READINGS else []
    others = [f"vocab/{lang}/bpe_initial/pieces.txt", f"corpus/{lang}.train.words.npz"]
    return [
        *(result(f"vocab/{lang}/{tok}/pieces.txt") for tok in tokenizers),
        *(result(f"analysis/{lang}/train/{tok}/{name}") for tok in tokenizers for name in COUNTED),
        *(result(path) for path in others if tokenizers),
    ]


def build_files(folders):
    """Of builds, the vocabulary and what was pruned on the way to it."""
    names = ("pieces.txt", "ablations.parquet")
    return [f"{folder}/{name}" for folder in folders for name in names]


def sample_folders(lang, name):
    """Folders of a reading's builds on each sample, all with the first seed."""
    seed = STUDY_SEEDS[:1]
    others = [
        folder
        for sample in STUDY_SAMPLES[1:]
        for folder in study_folders("stability", lang, f"{name}.sample{sample}", seed)
    ]
    return [*study_folders("readings", lang, name, seed), *others]


def stability_rows():
    """What the study of stability compares: BPE and the varied readings of each language."""
    titles = dict(zip(LANGUAGES, language_titles(LANGUAGES)))
    return [
        row
        for lang in (LANGUAGES if VARIED else [])
        for row in (
            {
                "language": titles[lang],
                "label": "BPE",
                "preset": None,
                "seeds": [],
                "samples": study_baselines(lang, STUDY_SAMPLES),
            },
            *(
                {
                    "language": titles[lang],
                    "label": reading_label(name),
                    "preset": reading_title(name),
                    "seeds": study_folders("readings", lang, name),
                    "samples": sample_folders(lang, name),
                }
                for name in VARIED
            ),
        )
    ]


def stability_files():
    """The vocabularies of the study of stability."""
    rows = stability_rows()
    folders = [folder for row in rows for key in ("seeds", "samples") for folder in row[key]]
    bpe = {folder for row in rows if row["preset"] is None for folder in row["samples"]}
    return [
        *build_files(dict.fromkeys(folder for folder in folders if folder not in bpe)),
        *(f"{folder}/pieces.txt" for folder in sorted(bpe)),
    ]


def sensitivity_rows():
    """What the study of sensitivity compares: each varied reading, and what differs from it."""
    usual = {**config["sage"], "initial_size": config["vocabulary"]["initial_size"]}
    first, *others = STUDY_SEEDS
    return [
        {
            "language": lang,
            "label": reading_label(name),
            "preset": reading_title(name),
            "base": f"readings/{name}/{first}",
            "seeds": [f"readings/{name}/{seed}" for seed in others],
            "variants": [
                {
                    "key": key,
                    "value": value,
                    "usual": usual[key],
                    "build": f"sensitivity/{name}.{key}-{value}/{first}",
                }
                for key, value in varied_values(name)
            ],
        }
        for lang in LANGUAGES
        for name in VARIED
        if varied_values(name)
    ]


def sensitivity_files():
    """The vocabularies of the study of sensitivity, and their counts."""
    files = ("pieces.txt", "ablations.parquet", *COUNTED)
    rows = sensitivity_rows()
    builds = [
        (row["language"], build)
        for row in rows
        for build in (row["base"], *row["seeds"], *(v["build"] for v in row["variants"]))
    ]
    folders = [
        result(f"studies/{study}/{lang}/{setting}/{seed}")
        for lang, build in builds
        for study, setting, seed in [build.split("/")]
    ]
    baselines = [folder for lang in LANGUAGES if rows for folder in study_baselines(lang)]
    return [
        *(f"{folder}/{name}" for folder in folders for name in files),
        *(f"{folder}/{name}" for folder in baselines for name in ("pieces.txt", *COUNTED)),
    ]
