# Language models: masked-language-model pretraining, then evaluation on tasks (paper, Section 5).
#
# In:    corpora, vocabularies and tasks, as pretrain.smk and finetune.smk say
# Out:   models/, scores/; studies/pretraining/{lang}/{tok}/{seed}/, a model pretrained with another seed
# Steps: pretrain, fine-tune and score; pretrain again for each of `lm.pretraining_seeds`


include: "pretrain.smk"
include: "finetune.smk"


use rule pretrain_model as repeat_pretraining with:
    output:
        weights=result("studies/pretraining/{lang}/{tok}/{seed}/model.safetensors"),
        configuration=result("studies/pretraining/{lang}/{tok}/{seed}/config.json"),
        tokenizer=result("studies/pretraining/{lang}/{tok}/{seed}/tokenizer.json"),
        tokenizer_configuration=result(
            "studies/pretraining/{lang}/{tok}/{seed}/tokenizer_config.json"
        ),
        log=result("studies/pretraining/{lang}/{tok}/{seed}/training_log.parquet"),
        heldout=result("studies/pretraining/{lang}/{tok}/{seed}/heldout.parquet"),
        card=result("studies/pretraining/{lang}/{tok}/{seed}/README.md"),
    log:
        result("logs/repeat_pretraining/{lang}.{tok}.{seed}.log"),
    benchmark:
        result("benchmarks/repeat_pretraining/{lang}.{tok}.{seed}.tsv")
    params:
        name=lambda wildcards: f"{wildcards.lang}/{wildcards.tok}, seed {wildcards.seed} ({run.name})",
        seed=lambda wildcards: int(wildcards.seed),
        state_dir=state("studies/pretraining/{lang}/{tok}/{seed}"),
        live=result("logs/repeat_pretraining/{lang}.{tok}.{seed}"),
        artefact=result("studies/pretraining/{lang}/{tok}/{seed}"),
