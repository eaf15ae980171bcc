# The paper's figures on texts of other domains (Section 4, "Robustness to Domain Change").
#
# In:    analysis/{lang}/{domain}/{tok}/*.parquet of BPE and SaGe, trained on the language's corpus
# Out:   figures/NAME.pdf and .png
# Steps: as for the training corpora; a domain that the configuration leaves out has no figures


if "quora" in DOMAINS:

    rule figure_fertility_quora:
        """Subwords per word of the Quora questions, BPE beside SaGe (paper, Section 4.1)."""
        input:
            fertility=expand(
                result("analysis/{lang}/quora/{tok}/fertility.parquet"),
                lang=setting("domain_settings", "quora")["language"],
                tok=COMPARED_TOKENIZERS,
            ),
            style=resource_file("style.mplstyle"),
        output:
            pdf=report(
                result("figures/figure_fertility_quora.pdf"),
                caption="../report/figure_fertility_quora.rst",
                category="Figures",
            ),
            png=result("figures/figure_fertility_quora.png"),
        log:
            result("logs/figure_fertility_quora.log"),
        benchmark:
            result("benchmarks/figure_fertility_quora.tsv")
        conda:
            "../../envs/paper.yaml"
        threads: 1
        resources:
            mem_mb=memory(2000),
            runtime=30,
        params:
            titles=[domain_title("quora")],
            labels=labels_of(COMPARED_TOKENIZERS),
            presets=presets_of(COMPARED_TOKENIZERS),
            code=library_digest("paper.figures"),
        script:
            "../scripts/figure_fertility_quora.py"

    rule figure_ratio_quora:
        """Distinct neighbours over frequency on the Quora questions (paper, Section 4.1)."""
        input:
            neighbours=expand(
                result("analysis/{lang}/quora/{tok}/neighbours.parquet"),
                lang=setting("domain_settings", "quora")["language"],
                tok=COMPARED_TOKENIZERS,
            ),
            style=resource_file("style.mplstyle"),
        output:
            pdf=report(
                result("figures/figure_ratio_quora.pdf"),
                caption="../report/figure_ratio_quora.rst",
                category="Figures",
            ),
            png=result("figures/figure_ratio_quora.png"),
        log:
            result("logs/figure_ratio_quora.log"),
        benchmark:
            result("benchmarks/figure_ratio_quora.tsv")
        conda:
            "../../envs/paper.yaml"
        threads: 1
        resources:
            mem_mb=memory(2000),
            runtime=30,
        params:
            titles=[domain_title("quora")],
            window=config["analysis"]["windows"][0],
            labels=labels_of(COMPARED_TOKENIZERS),
            presets=presets_of(COMPARED_TOKENIZERS),
            code=library_digest("paper.figures"),
        script:
            "../scripts/figure_ratio_quora.py"


if "legal" in DOMAINS:

    rule figure_fertility_legal:
        """Subwords per word of the legal text, BPE beside SaGe (paper, Section 4.1)."""
        input:
            fertility=expand(
                result("analysis/{lang}/legal/{tok}/fertility.parquet"),
                lang=setting("domain_settings", "legal")["language"],
                tok=COMPARED_TOKENIZERS,
            ),
            style=resource_file("style.mplstyle"),
        output:
            pdf=report(
                result("figures/figure_fertility_legal.pdf"),
                caption="../report/figure_fertility_legal.rst",
                category="Figures",
            ),
            png=result("figures/figure_fertility_legal.png"),
        log:
            result("logs/figure_fertility_legal.log"),
        benchmark:
            result("benchmarks/figure_fertility_legal.tsv")
        conda:
            "../../envs/paper.yaml"
        threads: 1
        resources:
            mem_mb=memory(2000),
            runtime=30,
        params:
            titles=[domain_title("legal")],
            labels=labels_of(COMPARED_TOKENIZERS),
            presets=presets_of(COMPARED_TOKENIZERS),
            code=library_digest("paper.figures"),
        script:
            "../scripts/figure_fertility_legal.py"

    rule figure_ratio_legal:
        """Distinct neighbours over frequency on the legal text (paper, Section 4.1)."""
        input:
            neighbours=expand(
                result("analysis/{lang}/legal/{tok}/neighbours.parquet"),
                lang=setting("domain_settings", "legal")["language"],
                tok=COMPARED_TOKENIZERS,
            ),
            style=resource_file("style.mplstyle"),
        output:
            pdf=report(
                result("figures/figure_ratio_legal.pdf"),
                caption="../report/figure_ratio_legal.rst",
                category="Figures",
            ),
            png=result("figures/figure_ratio_legal.png"),
        log:
            result("logs/figure_ratio_legal.log"),
        benchmark:
            result("benchmarks/figure_ratio_legal.tsv")
        conda:
            "../../envs/paper.yaml"
        threads: 1
        resources:
            mem_mb=memory(2000),
            runtime=30,
        params:
            titles=[domain_title("legal")],
            window=config["analysis"]["windows"][0],
            labels=labels_of(COMPARED_TOKENIZERS),
            presets=presets_of(COMPARED_TOKENIZERS),
            code=library_digest("paper.figures"),
        script:
            "../scripts/figure_ratio_legal.py"


if "reviews" in DOMAINS:

    rule figure_fertility_reviews:
        """Subwords per word of the Turkish reviews, BPE beside SaGe (paper, Section 4.1)."""
        input:
            fertility=expand(
                result("analysis/{lang}/reviews/{tok}/fertility.parquet"),
                lang=setting("domain_settings", "reviews")["language"],
                tok=COMPARED_TOKENIZERS,
            ),
            style=resource_file("style.mplstyle"),
        output:
            pdf=report(
                result("figures/figure_fertility_reviews.pdf"),
                caption="../report/figure_fertility_reviews.rst",
                category="Figures",
            ),
            png=result("figures/figure_fertility_reviews.png"),
        log:
            result("logs/figure_fertility_reviews.log"),
        benchmark:
            result("benchmarks/figure_fertility_reviews.tsv")
        conda:
            "../../envs/paper.yaml"
        threads: 1
        resources:
            mem_mb=memory(2000),
            runtime=30,
        params:
            titles=[domain_title("reviews")],
            labels=labels_of(COMPARED_TOKENIZERS),
            presets=presets_of(COMPARED_TOKENIZERS),
            code=library_digest("paper.figures"),
        script:
            "../scripts/figure_fertility_reviews.py"

    rule figure_ratio_reviews:
        """Distinct neighbours over frequency on the Turkish reviews (paper, Section 4.1)."""
        input:
            neighbours=expand(
                result("analysis/{lang}/reviews/{tok}/neighbours.parquet"),
                lang=setting("domain_settings", "reviews")["language"],
                tok=COMPARED_TOKENIZERS,
            ),
            style=resource_file("style.mplstyle"),
        output:
            pdf=report(
                result("figures/figure_ratio_reviews.pdf"),
                caption="../report/figure_ratio_reviews.rst",
                category="Figures",
            ),
            png=result("figures/figure_ratio_reviews.png"),
        log:
            result("logs/figure_ratio_reviews.log"),
        benchmark:
            result("benchmarks/figure_ratio_reviews.tsv")
        conda:
            "../../envs/paper.yaml"
        threads: 1
        resources:
            mem_mb=memory(2000),
            runtime=30,
        params:
            titles=[domain_title("reviews")],
            window=config["analysis"]["windows"][0],
            labels=labels_of(COMPARED_TOKENIZERS),
            presets=presets_of(COMPARED_TOKENIZERS),
            code=library_digest("paper.figures"),
        script:
            "../scripts/figure_ratio_reviews.py"
