# The paper's figures on the training corpora (Section 4), one rule a figure; then all tokenizers.
#
# In:    vocab/{lang}/{tok}/pieces.txt and analysis/{lang}/train/{tok}/*.parquet of BPE and SaGe
# Out:   figures/NAME.pdf and .png
# Steps: read every language's measurements, draw one panel or row a language


rule figure_lengths:
    """Length of the vocabularies' pieces (paper, Section 4, "Token Length")."""
    input:
        pieces=expand(
            result("vocab/{lang}/{tok}/pieces.txt"),
            lang=LANGUAGES,
            tok=COMPARED_TOKENIZERS,
        ),
        style=resource_file("style.mplstyle"),
    output:
        pdf=report(
            result("figures/figure_lengths.pdf"),
            caption="../report/figure_lengths.rst",
            category="Figures",
        ),
        png=result("figures/figure_lengths.png"),
    log:
        result("logs/figure_lengths.log"),
    benchmark:
        result("benchmarks/figure_lengths.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        titles=language_titles(LANGUAGES),
        labels=labels_of(COMPARED_TOKENIZERS),
        presets=presets_of(COMPARED_TOKENIZERS),
        code=library_digest("paper.figures"),
    script:
        "../scripts/figure_lengths.py"


rule figure_fertility:
    """Subwords per corpus word, BPE beside SaGe (paper, Section 4, "Subword Fertility")."""
    input:
        fertility=expand(
            result("analysis/{lang}/train/{tok}/fertility.parquet"),
            lang=LANGUAGES,
            tok=COMPARED_TOKENIZERS,
        ),
        style=resource_file("style.mplstyle"),
    output:
        pdf=report(
            result("figures/figure_fertility.pdf"),
            caption="../report/figure_fertility.rst",
            category="Figures",
        ),
        png=result("figures/figure_fertility.png"),
    log:
        result("logs/figure_fertility.log"),
    benchmark:
        result("benchmarks/figure_fertility.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        titles=language_titles(LANGUAGES),
        labels=labels_of(COMPARED_TOKENIZERS),
        presets=presets_of(COMPARED_TOKENIZERS),
        code=library_digest("paper.figures"),
    script:
        "../scripts/figure_fertility.py"


rule figure_exponence:
    """Distinct neighbours of the top pieces, ranked (paper, Section 4, "Contextual Exponence")."""
    input:
        neighbours=expand(
            result("analysis/{lang}/train/{tok}/neighbours.parquet"),
            lang=LANGUAGES,
            tok=COMPARED_TOKENIZERS,
        ),
        style=resource_file("style.mplstyle"),
    output:
        pdf=report(
            result("figures/figure_exponence.pdf"),
            caption="../report/figure_exponence.rst",
            category="Figures",
        ),
        png=result("figures/figure_exponence.png"),
    log:
        result("logs/figure_exponence.log"),
    benchmark:
        result("benchmarks/figure_exponence.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        titles=language_titles(LANGUAGES),
        windows=config["analysis"]["windows"],
        top=config["analysis"]["top_neighbours"],
        labels=labels_of(COMPARED_TOKENIZERS),
        presets=presets_of(COMPARED_TOKENIZERS),
        code=library_digest("paper.figures"),
    script:
        "../scripts/figure_exponence.py"


rule figure_ratio:
    """Distinct neighbours over frequency (paper, Section 4, "Contextual Exponence")."""
    input:
        neighbours=expand(
            result("analysis/{lang}/train/{tok}/neighbours.parquet"),
            lang=LANGUAGES,
            tok=COMPARED_TOKENIZERS,
        ),
        style=resource_file("style.mplstyle"),
    output:
        pdf=report(
            result("figures/figure_ratio.pdf"),
            caption="../report/figure_ratio.rst",
            category="Figures",
        ),
        png=result("figures/figure_ratio.png"),
    log:
        result("logs/figure_ratio.log"),
    benchmark:
        result("benchmarks/figure_ratio.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        titles=language_titles(LANGUAGES),
        window=config["analysis"]["windows"][0],
        labels=labels_of(COMPARED_TOKENIZERS),
        presets=presets_of(COMPARED_TOKENIZERS),
        code=library_digest("paper.figures"),
    script:
        "../scripts/figure_ratio.py"


rule figure_tokenizers:
    """What peers measure of a tokenizer, drawn for every one on every text."""
    input:
        summaries=summaries_of(ALL_TOKENIZERS),
        style=resource_file("style.mplstyle"),
    output:
        pdf=report(
            result("figures/figure_tokenizers.pdf"),
            caption="../report/figure_tokenizers.rst",
            category="Figures",
        ),
        png=result("figures/figure_tokenizers.png"),
    log:
        result("logs/figure_tokenizers.log"),
    benchmark:
        result("benchmarks/figure_tokenizers.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        texts=measured_texts(),
        labels=labels_of(ALL_TOKENIZERS),
        presets=presets_of(ALL_TOKENIZERS),
        code=library_digest("paper.tokenizers"),
    script:
        "../scripts/figure_tokenizers.py"
