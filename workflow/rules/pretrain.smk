# Masked-language-model pretraining (paper, Section 5 and Appendix A).
#
# In:    corpus/{lang}.txt.zst, the lines that the vocabulary was trained on
#        corpus/{lang}.heldout.txt.zst, lines kept out of all training
#        vocab/{lang}/{tok}/, a tokenizer
# Out:   shards/{lang}/{tok}/   the corpus as rows of token ids, words of held-out lines
#        models/{lang}/{tok}/   a folder that `AutoModelForMaskedLM` loads, its training log and what
#                               it answered on held-out lines
# Steps: encode and pack the corpus once a tokenizer, then train from scratch under the budget
#
# A killed training goes on from its last checkpoint when the rule runs again. `lm.gpus: N` trains one
# model on N GPUs of one machine, a process each; 0 trains on the CPU, with as many threads as
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
    log:
        result("logs/build_shards/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/build_shards/{lang}.{tok}.tsv")
    conda:
        "../../envs/models.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=120,
    params:
        sequence_length=config["lm"]["pretrain"]["sequence_length"],
        questions={
            "lines": config["lm"]["pretrain"]["heldout_lines"],
            "rate": config["lm"]["pretrain"]["mask_rate"],
            "seed": config["seed"],
        },
        artefact=result("shards/{lang}/{tok}"),
        code=library_digest("lm.shards"),
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
        replay=replayed_log,
    output:
        weights=result("models/{lang}/{tok}/model.safetensors"),
        configuration=result("models/{lang}/{tok}/config.json"),
        tokenizer=result("models/{lang}/{tok}/tokenizer.json"),
        tokenizer_configuration=result("models/{lang}/{tok}/tokenizer_config.json"),
        log=result("models/{lang}/{tok}/training_log.parquet"),
        heldout=result("models/{lang}/{tok}/heldout.parquet"),
        card=result("models/{lang}/{tok}/README.md"),
    log:
        result("logs/pretrain_model/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/pretrain_model/{lang}.{tok}.tsv")
    conda:
        "../../envs/models.yaml"
    threads: 4 * config["lm"]["gpus"] or 1
    resources:
        mem_mb=memory(6000 + 10000 * config["lm"]["gpus"]),
        gpu=config["lm"]["gpus"],
        # A budget in updates or tokens has no known duration: two days, unless a profile says.
        runtime=120 + int(60 * (config["lm"]["pretrain"]["hours"] or 46)),
    params:
        settings=pretraining_settings(),
        name=lambda wildcards: f"{wildcards.lang}/{wildcards.tok} ({RUN})",
        synthetic=lambda wildcards: synthetic_language(wildcards.lang),
        seed=config["seed"],
        state_dir=state("models/{lang}/{tok}"),
        artefact=result("models/{lang}/{tok}"),
        code=library_digest("lm.pretrain"),
    script:
        "../scripts/pretrain_model.py"
