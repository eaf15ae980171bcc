# Evaluation of the language models on tasks (paper, Section 5, Tables 4 and 5).
#
# In:    models/{lang}/{tok}/, a pretrained model
#        tasks/{task}/{train,validation}.parquet, clean rows
# Out:   scores/{lang}/{tok}/{task}/{seed}.json                  metrics, as fractions
#        scores/{lang}/{tok}/{task}/{seed}.predictions.parquet   a row an example: example, label,
#            predicted (classes as numbers, with their probability); for tagging tokens, tags,
#            predicted, a tag a word
# Steps: one job a task, tokenizer and seed: fine-tune, predict the validation split, score


rule finetune_model:
    """One model, fine-tuned and scored on one task with one seed."""
    input:
        weights=result("models/{lang}/{tok}/model.safetensors"),
        configuration=result("models/{lang}/{tok}/config.json"),
        tokenizer=result("models/{lang}/{tok}/tokenizer.json"),
        tokenizer_configuration=result("models/{lang}/{tok}/tokenizer_config.json"),
        train=result("tasks/{task}/train.parquet"),
        validation=result("tasks/{task}/validation.parquet"),
    output:
        scores=result("scores/{lang}/{tok}/{task}/{seed}.json"),
        predictions=result("scores/{lang}/{tok}/{task}/{seed}.predictions.parquet"),
    log:
        result("logs/finetune_model/{lang}.{tok}.{task}.{seed}.log"),
    benchmark:
        result("benchmarks/finetune_model/{lang}.{tok}.{task}.{seed}.tsv")
    conda:
        "../../envs/models.yaml"
    threads: 4 if config["lm"]["gpus"] else 1
    resources:
        mem_mb=memory(16000 if config["lm"]["gpus"] else 6000),
        gpu=min(config["lm"]["gpus"], 1),
        runtime=1440,
    params:
        settings={key: value for key, value in config["lm"]["finetune"].items() if key != "seeds"},
        task=lambda wildcards: {
            key: run.task(wildcards.task)[key] for key in ("kind", "metric", "labels")
        },
        precision=config["lm"]["pretrain"]["precision"],
        state_dir=state("scores/{lang}/{tok}/{task}/{seed}"),
        code=code_of("finetune_model.py"),
    script:
        "../scripts/finetune_model.py"
