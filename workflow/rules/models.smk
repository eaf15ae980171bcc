# Language models: pretraining, then evaluation on tasks (paper, Section 5 and Appendix A).
#
# In:    corpus/{lang}.txt.zst, the lines that the vocabulary was trained on
#        corpus/{lang}.heldout.txt.zst, lines kept out of all training
#        vocab/{lang}/{tok}/, a tokenizer
#        tasks/{task}/{train,validation}.parquet, clean rows
# Out:   shards/{lang}/{tok}/   the corpus as rows of token ids, words of held-out lines
#        models/{lang}/{tok}/   a folder that `AutoModelForMaskedLM` loads, its training log and what
#                               it answered on held-out lines
#        studies/pretraining/{lang}/{tok}/{seed}/   the same, pretrained with another seed
#        analysis/{lang}/floors/{tok}.parquet   what tables of frequencies reach on the words asked
#        analysis/{lang}/causal/{tok}/{seed}.parquet   bits of held-out lines by a causal model
#        analysis/{lang}/cut/{seed}.safetensors   a causal model of the initial vocabulary
#        analysis/{lang}/cut/{seed}.parquet   the same by one of the initial vocabulary, cut by prunings
#        scores/{lang}/{tok}/{task}/{seed}.json                  metrics, as fractions
#        scores/{lang}/{tok}/{task}/{seed}.predictions.parquet   a row an example: example, label,
#            predicted (classes as numbers, with their probability); for tagging tokens, tags,
#            predicted, a tag a word
# Steps: encode and pack the corpus once a tokenizer; train from scratch under the budget; fine-tune,
#        predict the validation split and score, one job a task, tokenizer and seed
#
# Killed training resumes from its last checkpoint when the rule runs again. `lm.gpus: N` trains one
# model on N GPUs of a machine, a process each; 0 trains on the CPU, with as many threads as
# `--set-threads pretrain_model=N` says. While it runs, its log shows losses and held-out scores.


rule build_shards:
    """A corpus as memory-mapped rows of one tokenizer's ids."""
    input:
        train=result("corpus/{lang}.txt.zst"),
        heldout=result("corpus/{lang}.heldout.txt.zst"),
        tokenizer=result("vocab/{lang}/{tok}/tokenizer.json"),
        configuration=result("vocab/{lang}/{tok}/tokenizer_config.json"),
    output:
        train=result("shards/{lang}/{tok}/train.npy"),
        questions=result("shards/{lang}/{tok}/heldout.npz"),
        index=result("shards/{lang}/{tok}/index.json"),
    priority: 1
    conda:
        "../../envs/models.yaml"
    threads: 1
    params:
        sequence_length=run.config.lm.pretrain.sequence_length,
        questions={
            "lines": run.config.lm.pretrain.heldout_lines,
            "rate": run.config.lm.pretrain.mask_rate,
            "seed": run.seed,
        },
        version=RESULT_VERSION["shards"],
    script:
        "../scripts/build_shards.py"


rule pretrain_model:
    """A pre-layer-norm BERT, trained from scratch on one language with one tokenizer."""
    input:
        shards=result("shards/{lang}/{tok}/index.json"),
        train=result("shards/{lang}/{tok}/train.npy"),
        questions=result("shards/{lang}/{tok}/heldout.npz"),
        tokenizer=result("vocab/{lang}/{tok}/tokenizer.json"),
        configuration=result("vocab/{lang}/{tok}/tokenizer_config.json"),
    output:
        **model_files("models/{lang}/{tok}"),
    priority: 1
    conda:
        "../../envs/models.yaml"
    # A core a card launches its kernels. Snakemake holds no cores back for a job that wants several.
    threads: max(1, run.config.lm.gpus)
    resources:
        gpu=run.config.lm.gpus,
        nodes=1,
        mem_mb=memory(6000 + 10000 * run.config.lm.gpus),
        # Many partitions end jobs after a day. What is not done by then is saved, and a retry resumes.
        runtime=min(1380, 120 + int(60 * (run.config.lm.pretrain.hours or 24))),
    params:
        settings=decisive("lm.pretrain", *FREE),
        free=free("pretrain", *FREE),
        name=f"{{lang}}/{{tok}} ({run.config.run})",
        # For the card. What depends on the output is not compared with the last run's.
        text=lambda wildcards, output: text_of(run, wildcards.lang),
        seed=run.seed,
        version=RESULT_VERSION["pretrain"],
    script:
        "../scripts/pretrain_model.py"


use rule pretrain_model as repeat_pretraining with:
    output:
        **model_files("studies/pretraining/{lang}/{tok}/{seed}"),
    params:
        name=f"{{lang}}/{{tok}}, seed {{seed}} ({run.config.run})",
        seed="{seed}",


rule measure_floors:
    """What tables of frequencies reach on the held-out words that one tokenizer's model predicts."""
    input:
        train=result("corpus/{lang}.txt.zst"),
        questions=result("shards/{lang}/{tok}/heldout.npz"),
        tokenizer=result("vocab/{lang}/{tok}/tokenizer.json"),
        configuration=result("vocab/{lang}/{tok}/tokenizer_config.json"),
    output:
        floors=result("analysis/{lang}/floors/{tok}.parquet"),
    conda:
        "../../envs/models.yaml"
    script:
        "../scripts/measure_floors.py"


rule train_causal:
    """Bits of held-out lines by a small causal transformer of one tokenizer's pieces, with one seed."""
    input:
        words=result("corpus/{lang}.train.words.npz"),
        heldout=result("corpus/{lang}.heldout.txt.zst"),
        pieces=result("vocab/{lang}/{tok}/pieces.txt"),
        tokenizer=result("vocab/{lang}/{tok}/tokenizer.json"),
        configuration=result("vocab/{lang}/{tok}/tokenizer_config.json"),
    output:
        curve=result("analysis/{lang}/causal/{tok}/{seed}.parquet"),
    conda:
        "../../envs/models.yaml"
    threads: 4 if run.config.lm.gpus else 1
    resources:
        gpu=min(run.config.lm.gpus, 1),
        mem_mb=memory(16000 if run.config.lm.gpus else 6000),
        runtime=1440,
    params:
        **run.word_settings,
        settings=decisive("lm.causal", *FREE_OF_MODELS),
        free=free("causal", "checkpoint_minutes"),
        version=RESULT_VERSION["causal"],
    script:
        "../scripts/train_causal.py"


rule train_whole_model:
    """A causal model of the initial vocabulary, with one seed."""
    input:
        words=result("corpus/{lang}.train.words.npz"),
        pieces=result("vocab/{lang}/bpe_initial/pieces.txt"),
    output:
        weights=result("analysis/{lang}/cut/{seed}.safetensors"),
    conda:
        "../../envs/models.yaml"
    threads: 4 if run.config.lm.gpus else 1
    resources:
        gpu=min(run.config.lm.gpus, 1),
        mem_mb=memory(16000 if run.config.lm.gpus else 6000),
        runtime=1440,
    params:
        settings=decisive("lm.causal", *FREE_OF_MODELS),
        free=free("causal", "checkpoint_minutes"),
        version=RESULT_VERSION["causal"],
    script:
        "../scripts/train_whole_model.py"


rule cut_models:
    """Bits of held-out lines by a model of the initial vocabulary, cut by every pruning of it."""
    input:
        weights=result("analysis/{lang}/cut/{seed}.safetensors"),
        heldout=result("corpus/{lang}.heldout.txt.zst"),
        pieces=result("vocab/{lang}/bpe_initial/pieces.txt"),
        prunings=lambda wildcards: prunings_of(wildcards).values(),
    output:
        bits=result("analysis/{lang}/cut/{seed}.parquet"),
    conda:
        "../../envs/models.yaml"
    resources:
        mem_mb=memory(6000),
        runtime=240,
    params:
        **run.word_settings,
        names=lambda wildcards: [*prunings_of(wildcards)],
        settings=decisive("lm.causal", "seeds", "checkpoint_minutes"),
    script:
        "../scripts/cut_models.py"


rule finetune_model:
    """One model, fine-tuned and scored on one task with one seed."""
    input:
        unpack(pretrained),
        train=result("tasks/{task}/train.parquet"),
        validation=result("tasks/{task}/validation.parquet"),
    output:
        scores=result("scores/{lang}/{tok}/{task}/{seed}.json"),
        predictions=result("scores/{lang}/{tok}/{task}/{seed}.predictions.parquet"),
    conda:
        "../../envs/models.yaml"
    threads: 1
    resources:
        gpu=min(run.config.lm.gpus, 1),
        mem_mb=memory(16000 if run.config.lm.gpus else 6000),
        runtime=1440,
    params:
        settings={
            key: value
            for key, value in run.section("lm.finetune").items()
            if key != "seeds" and value is not None
        },
        task=lambda wildcards: {
            key: getattr(run.task(wildcards.task), key) for key in ("kind", "metric", "labels")
        },
        precision=run.config.lm.pretrain.precision,
        free=free("pretrain", "checkpoint_minutes"),
        version=RESULT_VERSION["finetune"],
    script:
        "../scripts/finetune_model.py"
