# Reference results: a finished run's claims, tables and figures in a folder that git keeps.
#
# In:    claims.json, claims.md; the run's tables and figures; how large its texts and tasks are
# Out:   results/reference/intrinsic/, or, if the run has language models, lm/ with what is of them
# Steps: copy what is small, with its provenance; write the page that says which text it was


rule build_reference:
    """What a reader compares a run of their own with: `snakemake ... reference`."""
    input:
        claims=result("claims.json"),
        statements=result("claims.md"),
        artefacts=artefacts(REFERENCE_NAMES),
        summaries=[
            result(f"analysis/{text['language']}/{text['corpus']}/{TOKENIZERS[0]}/summary.json")
            for text in reference_texts()
        ],
        rows=[
            result(f"tasks/{split['task']}/{split['split']}.parquet")
            for split in reference_tasks()
        ],
        models=model_files(),
        scores=score_files(),
        paper=resource_file("paper_values.yaml"),
    output:
        folder=directory(f"results/reference/{REFERENCE}"),
    log:
        result("logs/build_reference.log"),
    benchmark:
        result("benchmarks/build_reference.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        texts=reference_texts(),
        lists=morpheme_lists(),
        tasks=reference_tasks(),
        run=report_run(),
        changes=lambda wildcards: reference_changes(),
        command=REFERENCE_COMMAND,
        code=library_digest("paper.reference"),
    script:
        "../scripts/build_reference.py"
