"""Which vocabularies the studies build, by name.

A build is a setting and a seed of a study in a language. Its setting is named by the reading of the
loss, and by what differs from the run's own settings: `printed`, `printed.sample2`,
`printed.prune_batch-50`.
"""

STUDIES = config["studies"]
READINGS = STUDIES["readings"] if STUDIES["enabled"] else []
VARIED = [name for name in STUDIES["varied"] if name in READINGS]
STUDY_SEEDS = STUDIES["seeds"]
STUDY_SAMPLES = list(range(1, STUDIES["samples"] + 1)) if READINGS else []


def reading(name):
    """The settings of a reading: its preset and the keys that override it."""
    return {k: v for k, v in setting("reading_settings", name).items() if k != "label"}


def reading_label(name):
    """Name of a reading in figures and tables."""
    return setting("reading_settings", name).get("label", name.replace("_", " "))


def varied_values(name):
    """The (key, value) pairs that the study of sensitivity sets for a reading, one at a time."""
    retrains = reading_settings(reading(name))["retrain"]
    keys = [key for key in STUDIES["values"] if key != "retrain_every" or retrains]
    return [(key, value) for key in keys for value in STUDIES["values"][key]]


# study -> setting -> what it is: reading, sample of the corpus, key and value that differ
STUDY_BUILDS = {
    "readings": {name: {"reading": name} for name in READINGS},
    "stability": {
        f"{name}.sample{sample}": {"reading": name, "sample": sample}
        for name in VARIED
        for sample in STUDY_SAMPLES[1:]
    },
    "sensitivity": {
        f"{name}.{key}-{value}": {"reading": name, "key": key, "value": value}
        for name in VARIED
        for key, value in varied_values(name)
    },
}


def study_build(wildcards):
    """What a build is."""
    return STUDY_BUILDS[wildcards.study][wildcards.setting]


def study_size(wildcards):
    """Size of the initial vocabulary of a build."""
    build = study_build(wildcards)
    varied = build.get("key") == "initial_size"
    return build["value"] if varied else config["vocabulary"]["initial_size"]


def study_sage(wildcards):
    """All that decides the pruning of a build, beside its corpus and its initial pieces."""
    build = study_build(wildcards)
    varied = build.get("key") not in (None, "initial_size")
    return {
        "final_size": config["vocabulary"]["final_size"],
        "seed": int(wildcards.seed),
        **config["sage"],
        **({build["key"]: build["value"]} if varied else {}),
        **reading(build["reading"]),
    }


def study_word2vec():
    """Settings of the studies' embeddings."""
    return {**config["word2vec"], "lines": STUDIES["word2vec_lines"]}


def study_inputs(wildcards):
    """Corpus, initial vocabulary and embeddings of a build."""
    build, size = study_build(wildcards), study_size(wildcards)
    sample, lang = build.get("sample", 1), wildcards.lang
    initial = f"studies/bpe/{lang}/{sample}.{size}"
    decoder = reading_settings(reading(build["reading"]))["decoder"]
    embeddings = f"studies/embeddings/{lang}/{sample}.{size}.{decoder}.{wildcards.seed}.npz"
    return {
        "words": result(f"studies/samples/{lang}/{sample}.words.npz"),
        "pieces": result(f"{initial}/pieces.txt"),
        "model": result(f"{initial}/sentencepiece.model"),
        "embeddings": result(embeddings),
    }


def study_folders(study, lang, setting, seeds=None):
    """Folders of the builds of a setting, by default of every seed."""
    return [result(f"studies/{study}/{lang}/{setting}/{seed}") for seed in seeds or STUDY_SEEDS]


def study_baselines(lang, samples=(1,)):
    """Folders of the BPE vocabularies of the final size, of samples of a language's corpus."""
    size = config["vocabulary"]["final_size"]
    return [result(f"studies/bpe/{lang}/{sample}.{size}") for sample in samples]


def study_files():
    """The vocabularies of all studies: the readings with every seed, the others with the first."""
    return [
        f"{folder}/pieces.txt"
        for study, builds in STUDY_BUILDS.items()
        for lang in LANGUAGES
        for name in builds
        for folder in study_folders(
            study, lang, name, None if study == "readings" else STUDY_SEEDS[:1]
        )
    ]


wildcard_constraints:
    study="readings|stability|sensitivity",
    sample="[0-9]+",
    size="[0-9]+",
    decoder="greedy|merges",
    setting=any_of([name for builds in STUDY_BUILDS.values() for name in builds]),
