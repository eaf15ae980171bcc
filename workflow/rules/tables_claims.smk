# The main table: the paper's chief numbers beside this run's.
#
# In:    claims.json; workflow/resources/paper_values.yaml, whose claims with a `headline` are shown
# Out:   tables/table_claims.tex, .csv and .md
# Steps: one row for a claim in a language, one column for a SaGe tokenizer


rule table_claims:
    """The paper's chief numbers beside those of each SaGe tokenizer (Sections 3 and 4)."""
    input:
        claims=result("claims.json"),
        paper=resource_file("paper_values.yaml"),
    output:
        tex=result("tables/table_claims.tex"),
        csv=result("tables/table_claims.csv"),
        md=report(
            result("tables/table_claims.md"),
            caption="../report/table_claims.rst",
            category="Tables",
        ),
    log:
        result("logs/table_claims.log"),
    benchmark:
        result("benchmarks/table_claims.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        languages=LANGUAGES,
        titles=language_titles(LANGUAGES),
        tokenizers=tokenizers_of_method("sage"),
        labels=labels_of(tokenizers_of_method("sage")),
        presets=presets_of(tokenizers_of_method("sage")),
        pretrain=config["lm"]["pretrain"] if LM_TOKENIZERS else None,
        code=library_digest("paper.claims"),
    script:
        "../scripts/table_claims.py"
