"""Which language models are trained, on which tasks they are evaluated, and the tasks' rows."""

SEEDS = config["lm"]["finetune"]["seeds"]
SEQUENCE_TASKS = [name for name in TASKS if setting("task_settings", name)["kind"] == "sequence"]
TOKEN_TASKS = [name for name in TASKS if setting("task_settings", name)["kind"] == "tokens"]
# Tokenizers whose scores are compared, the one they are compared with first.
COMPARED_MODELS = (
    ["bpe", *(name for name in LM_TOKENIZERS if name != "bpe")] if "bpe" in LM_TOKENIZERS else []
)
COMPARED_TASKS = TASKS if len(COMPARED_MODELS) > 1 else []
DOWNSTREAM_TABLES = [
    *(["table_sequence"] if LM_TOKENIZERS and SEQUENCE_TASKS else []),
    *(["table_ner"] if LM_TOKENIZERS and TOKEN_TASKS else []),
    *(["table_differences"] if COMPARED_TASKS else []),
    *(["table_hyperparameters_pretraining"] if LM_TOKENIZERS else []),
    *(["table_hyperparameters_finetuning"] if LM_TOKENIZERS else []),
]

# Snakemake does not limit a resource that nobody has declared, and trainings side by side on one
# machine would share its GPU, or wait for one while they hold cores. Without --jobs N there is no
# cluster that hands them out.
HAS_CLUSTER = workflow.global_resources["_nodes"].value is not None
if "gpu" not in workflow.global_resources and not HAS_CLUSTER:
    workflow.register_resource("gpu", max(1, config["lm"]["gpus"]))


def shows_gpu():
    """Whether this machine has a driver of GPUs (NVIDIA's or AMD's)."""
    devices = Path(os.devnull).parent
    return any((devices / name).exists() for name in ("nvidiactl", "nvmap", "dxg", "kfd"))


onstart:
    if LM_TOKENIZERS and config["lm"]["gpus"] and not (HAS_CLUSTER or shows_gpu()):
        print(
            f"warning: lm.gpus is {config['lm']['gpus']}, and this machine shows no GPU: jobs that "
            "train language models would fail; lm.gpus: 0 trains on the CPU",
            file=sys.stderr,
        )


def pretraining_settings():
    """What a finished model depends on of `lm.pretrain`.

    The other keys are about speed and memory. The adapter reads them from the configuration, since
    no model need be trained again because Snakemake sees them change.
    """
    return {key: value for key, value in config["lm"]["pretrain"].items() if key not in FREE}


def tasks_of(language):
    """Evaluation tasks in a language."""
    return [name for name in TASKS if setting("task_settings", name)["language"] == language]


def model_files():
    """The language model of every language and tokenizer in `lm.tokenizers`."""
    return expand(
        result("models/{lang}/{tok}/model.safetensors"), lang=LANGUAGES, tok=LM_TOKENIZERS
    )


def replayed_log(wildcards):
    """The log whose learning rates a model repeats; none where the budget is the configuration's."""
    replay = config["lm"]["pretrain"]["replay"]
    return [replay.format(lang=wildcards.lang, tok=wildcards.tok)] if replay else []


def score_files():
    """The score of every task, tokenizer and fine-tuning seed."""
    return [
        result(f"scores/{lang}/{tok}/{task}/{seed}.json")
        for lang in LANGUAGES
        for tok in LM_TOKENIZERS
        for task in tasks_of(lang)
        for seed in SEEDS
    ]


def score_files_of(tasks):
    """Scores of some tasks, of every tokenizer with a model and every seed."""
    return [
        result(f"scores/{setting('task_settings', task)['language']}/{tok}/{task}/{seed}.json")
        for tok in LM_TOKENIZERS
        for task in tasks
        for seed in SEEDS
    ]


def prediction_files_of(tasks):
    """Predictions behind the scores of some tasks."""
    return [path.removesuffix("json") + "predictions.parquet" for path in score_files_of(tasks)]


def difference_files():
    """The table of tested differences; none where the run compares nothing."""
    return [result("tables/table_differences.csv")] if COMPARED_TASKS else []


def model_budget():
    """What the models are given, for the notes of tables."""
    return {key: config["lm"][key] for key in ("pretrain", "finetune")}


def task_columns(tasks):
    """Tasks as the columns or rows of a score table, with what their rows are cut to."""
    stanzas = {name: setting("task_settings", name) for name in tasks}
    cuts = ("max_train", "max_validation", "validation_share")
    return [
        {
            "name": name,
            "label": stanza.get("label", name),
            "metric": stanza["metric"],
            "constructed": is_constructed(name),
            **{key: stanza.get(key) for key in cuts},
        }
        for name, stanza in stanzas.items()
    ]


def is_constructed(task):
    """Whether the examples of a task are constructed from text, in the place of a real set."""
    return any(
        resolved_source("task_settings", task, split)["kind"] == "constructed"
        for split in task_origins(task)
    )


def task_origin(task, split):
    """Which source of a task a split is taken from: its own, or a share of the training rows."""
    shared = setting("task_settings", task).get("validation_share")
    return "train" if shared else split


def task_origins(task):
    """The sources of a task that the run needs."""
    return sorted({task_origin(task, split) for split in ("train", "validation")})


def task_input(task, split):
    """Input files of a split of a task."""
    origin = task_origin(task, split)
    return source_input("task_settings", task, f"retrieved/tasks/{task}/{origin}", origin)


def task_part(task, split):
    """Which rows of its source a split takes; None for all."""
    stanza = setting("task_settings", task)
    most, shared = stanza.get(f"max_{split}"), stanza.get("validation_share")
    if not (most or shared):
        return None
    edges = {"train": (0.0, 1 - (shared or 0)), "validation": (1 - (shared or 1), 1.0)}
    return {"share": edges[split], "most": most, "seed": config["seed"]}


for name in TASKS if LM_TOKENIZERS else ():
    for split in task_origins(name):
        resolved_source("task_settings", name, split)
