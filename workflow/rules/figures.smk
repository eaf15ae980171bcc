# The paper's figures (Sections 3 to 5) and those of the studies, one rule a figure.
#
# In:    vocabularies, measurements, learning curves and assessed readings of the run
# Out:   figures/NAME.pdf and .png, where NAME is the rule
# Steps: read the measurements, draw one panel or row a language; on a domain text one panel
#
# The docstring of a rule is the caption, in reStructuredText. Its output names the target of which
# the figure is a part (besides `all` and `paper`), and what the run must have for it.


rule figure_nulls:
    """How far SaGe goes beyond prunings without contexts, on the paper's main statements. A row is
    a statement in one language; its unit is the standard deviation of the vocabularies pruned at
    random, 0 is their mean, and right is where the statement points. Grey bars hold 95 % of further
    random seeds, before Holm's adjustment; a filled circle is significant after it. Lines are 95 %
    intervals over the text or the pieces, and no spread of seeds. The axis is logarithmic outside
    ±5. A statement on which all random prunings agree has no such unit and is left out. The paper
    has no such figure.
    """
    input:
        claims=result("claims.json"),
        paper=resource("paper_values.yaml"),
        style=figure_styles(),
    output:
        **figure("figure_nulls", "paper", run.compared_with_nulls),
    log:
        result("logs/figure_nulls.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(["bpe", *run.compared_sage]),
        languages=run.languages,
        titles=run.titles(run.languages),
        tokenizers=run.compared_sage,
        code=code_of("figure_nulls.py"),
    script:
        "../scripts/figure_nulls.py"


rule figure_lengths:
    """Length of the pieces of each vocabulary, in characters (paper, Section 4, “Token Length”).
    The word-start mark ``▁`` does not count; the mark standing alone has no length and is left out.
    The paper shows English and calls Turkish similar. |greedy| All panels have the same scale.
    """
    input:
        pieces=of_each("vocab/{lang}/{tok}/pieces.txt", run.compared),
        style=figure_styles(),
    output:
        **figure("figure_lengths", "intrinsic", run.compared),
    log:
        result("logs/figure_lengths.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(run.compared),
        titles=run.titles(run.languages),
        code=code_of("figure_lengths.py"),
    script:
        "../scripts/figure_lengths.py"


rule figure_fertility:
    """Share of the words of the training corpus by the number of subwords they are cut into (paper,
    Section 4, “Subword Fertility”). Words of eight or more share the last group; the right panels
    repeat the words of four or more on a scale of their own. Panels above one another have the same
    scale. |greedy|
    """
    input:
        fertility=of_each("analysis/{lang}/train/{tok}/fertility.parquet", run.compared),
        style=figure_styles(),
    output:
        **figure("figure_fertility", "intrinsic", run.compared),
    log:
        result("logs/figure_fertility.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(run.compared),
        titles=run.titles(run.languages),
        code=code_of("figure_fertility.py"),
    script:
        "../scripts/figure_fertility.py"


rule figure_exponence:
    """Number of distinct pieces that stand within a window around each piece anywhere in the
    training corpus, for the 200 pieces with the most of them, ranked for each tokenizer by itself
    (paper, Section 4, “Contextual Exponence”). The vertical axis is logarithmic, and each panel has
    a scale of its own; the strip below repeats the curves as differences from BPE's, rank by rank,
    and is not logarithmic. The paper shows Turkish with window 5 and says that English and window 2
    agree. |greedy|
    """
    input:
        neighbours=of_each("analysis/{lang}/train/{tok}/neighbours.parquet", run.compared),
        style=figure_styles(),
    output:
        **figure("figure_exponence", "intrinsic", run.compared),
    log:
        result("logs/figure_exponence.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(run.compared),
        titles=run.titles(run.languages),
        windows=config["analysis"]["windows"],
        top=config["analysis"]["top_neighbours"],
        code=code_of("figure_exponence.py"),
    script:
        "../scripts/figure_exponence.py"


rule figure_ratio:
    """Distinct neighbours divided by frequency, over the pieces of each vocabulary (paper, Section
    4, “Contextual Exponence”). Pieces of fewer than ten occurrences are left out; each panel says
    how many. Of n occurrences the ratio is a multiple of 1/n, which gives a distribution with rare
    pieces a comb. An occurrence has at most ten neighbours in a window of five on either side, so
    no ratio is larger. The line stands on the bar that holds the median. The claim ``ratio_lower``
    is about means, which can fall where medians rise. All panels have the same scale. |greedy|
    """
    input:
        neighbours=of_each("analysis/{lang}/train/{tok}/neighbours.parquet", run.compared),
        style=figure_styles(),
    output:
        **figure("figure_ratio", "intrinsic", run.compared),
    log:
        result("logs/figure_ratio.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(run.compared),
        titles=run.titles(run.languages),
        window=config["analysis"]["windows"][0],
        code=code_of("figure_ratio.py"),
    script:
        "../scripts/figure_ratio.py"


for domain in run.domains:

    rule:
        """Share of words by their number of subwords, on a text of another domain, which the title
        names, with the vocabularies made from the training corpus (paper, Section 4, “Robustness to
        Domain Change”). The right panel repeats the words of four or more subwords on a scale of
        its own. |greedy|
        """
        name:
            f"figure_fertility_{domain}"
        input:
            fertility=run.domain_counts(domain, "fertility.parquet"),
            style=figure_styles(),
        output:
            **figure(f"figure_fertility_{domain}", "intrinsic", run.compared),
        log:
            result(f"logs/figure_fertility_{domain}.log"),
        conda:
            "../../envs/paper.yaml"
        params:
            **run.legend(run.compared),
            titles=[run.domain_title(domain)],
            code=code_of("figure_fertility.py"),
        script:
            "../scripts/figure_fertility.py"


for domain in run.domains:

    rule:
        """Distinct neighbours divided by frequency over the pieces of each vocabulary, on a text of
        another domain, which the title names (paper, Section 4, “Robustness to Domain Change”).
        Pieces of fewer than ten occurrences are left out: on a small text they are many, and each
        panel says how many. Of n occurrences the ratio is a multiple of 1/n, which gives a
        distribution with rare pieces a comb. The line stands on the bar that holds the median.
        |greedy|
        """
        name:
            f"figure_ratio_{domain}"
        input:
            neighbours=run.domain_counts(domain, "neighbours.parquet"),
            style=figure_styles(),
        output:
            **figure(f"figure_ratio_{domain}", "intrinsic", run.compared),
        log:
            result(f"logs/figure_ratio_{domain}.log"),
        conda:
            "../../envs/paper.yaml"
        params:
            **run.legend(run.compared),
            titles=[run.domain_title(domain)],
            window=config["analysis"]["windows"][0],
            code=code_of("figure_ratio.py"),
        script:
            "../scripts/figure_ratio.py"


rule figure_tokenizers:
    """Five measures of every tokenizer of the run (columns) in every language (rows): a filled mark
    is the training corpus, an open one a text of another domain; a tokenizer's marks stand one
    below the other only so that none covers another. The paper has no such figure; all numbers are
    in ``table_tokenizers``. BPE and every reading of SaGe segment greedily, the others by their own
    method or as their brackets say. No scale begins at zero, and each language has scales of its
    own.
    """
    input:
        summaries=run.analysis_files(run.ordered_tokenizers, "summary.json"),
        # Five panels of every tokenizer and text: no column of a page has room for them.
        style=resource("style.mplstyle"),
    output:
        **figure("figure_tokenizers", "intrinsic"),
    log:
        result("logs/figure_tokenizers.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(run.ordered_tokenizers),
        texts=run.measured_texts(),
        code=code_of("figure_tokenizers.py"),
    script:
        "../scripts/figure_tokenizers.py"


rule figure_ngrams:
    """Bits per character that n-grams of each tokenizer's pieces need for whole held-out lines, as
    differences from BPE's on the same lines: at order 3, at order 5, and the gain from context,
    which is what the two pieces before save (order 1 minus order 3). Modified Kneser-Ney estimates
    from samples of the training corpus; the filled mark is the largest. Further left is the shorter
    code. Lines are 95 % bootstrap intervals over held-out lines. An order is less text where a
    vocabulary has more pieces a word. The paper has no such figure; all orders are in
    ``table_ngrams``.
    """
    input:
        ngrams=of_each(
            "analysis/{lang}/ngrams/{tok}.parquet", run.ordered_tokenizers, run.ngram_languages
        ),
        style=resource("style.mplstyle"),
    output:
        **figure("figure_ngrams", "intrinsic", run.ngram_languages),
    log:
        result("logs/figure_ngrams.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(run.ordered_tokenizers),
        titles=run.titles(run.ngram_languages),
        baseline=run.labels(["bpe"])[0],
        seed=config["seed"],
        code=code_of("figure_ngrams.py"),
    script:
        "../scripts/figure_ngrams.py"


rule figure_evidence:
    """Every tokenizer beside BPE by several methods: a panel is a measure, a row a tokenizer, and
    right of 0 is better than BPE. N-grams predict pieces of held-out lines; probes are linear models
    of a task, of the pieces themselves or of frozen skip-gram vectors of them. Probes test
    segmentations and are no language models; causal transformers are small ones, with several
    seeds. A filled mark is significant after Holm's adjustment; lines are 95 % intervals; a true
    difference in the grey is found less often than four times in five, with the least certain
    tokenizer. Scales differ between panels. The paper has no such figure; all numbers are in
    ``table_evidence``. |constructed|
    """
    input:
        table=result("tables/table_evidence.csv"),
        style=figure_styles(),
    output:
        **figure("figure_evidence", run.evidence_target, run.has_evidence),
    log:
        result("logs/figure_evidence.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(run.ordered_tokenizers),
        baseline=run.labels(["bpe"])[0],
        code=code_of("figure_evidence.py"),
    script:
        "../scripts/figure_evidence.py"


rule figure_learning_curves:
    """Learning curves of the language models on held-out lines: bits per character of the words
    asked, and their difference from BPE's at the same place, against updates and characters seen.
    The same words are hidden for every tokenizer; a word's pieces are predicted from left to right,
    and the code of their number is added, so vocabularies compare. Bands are 95 % intervals over
    lines (bootstrap), and of several pretrainings over lines and seeds (Student's), around their
    mean. Grey lines are floors: what tables of frequencies of the training text reach on the same
    words, with the vocabulary that gives the lowest; a model above the first two knows less than a
    table without contexts. Words right and time are in ``table_learning_curves``. Where the run has
    causal models, two rows more a language show theirs and those of what is pruned without
    contexts, of whole lines, as means over seeds with Student's 95 % intervals; grey lines are
    n-grams of order 1, 3 and 5 from the largest sample that has no more lines than a causal model
    sees, with the tokenizer that gives the lowest. The paper says that coherent tokens should need
    fewer updates and leaves it to future work (Section 4, “Subword Fertility”). The learning rate
    falls over the whole budget, so a point within a curve is not what a smaller budget would give.
    """
    input:
        **run.curves(run.curve_languages),
        causal=run.causal_files(run.causal_tokenizers),
        ngrams=of_each("analysis/{lang}/ngrams/{tok}.parquet", run.models, run.causal_ngrams),
        style=figure_styles(),
    output:
        **figure("figure_learning_curves", "downstream", run.curve_languages),
    log:
        result("logs/figure_learning_curves.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.causal_parameters,
        causal_labels=run.labels(run.causal_tokenizers),
        causal_lines=config["lm"]["causal"]["lines"],
        compared=run.labels(run.models),
        titles=run.titles(run.curve_languages),
        ngram_titles=run.titles(run.causal_ngrams),
        presets=run.presets(run.models),
        labels=run.labels(run.ordered_tokenizers),
        baseline=run.curve_baseline,
        seed=config["seed"],
        code=code_of("figure_learning_curves.py"),
    script:
        "../scripts/figure_learning_curves.py"


rule figure_readings:
    """Six quantities of every reading of the ablation loss (rows): a mark is the mean over the
    seeds, a stroke one seed. The dashes at the height of English are the paper's value, which is of
    English; the grey line at 1 is BPE. Rows in bold on grey are the presets ``printed`` and
    ``released``; the rows at the foot show them at full size. Every other row changes one
    preset in what its name says: the loss, the decoder or the context vectors. "SaGe-only" and
    "BPE-only" pieces are in exactly one of the two vocabularies. Neighbours are divided by the
    count for pieces that occur ten times or more. The paper has no such figure; all numbers are in
    ``table_readings``.
    """
    input:
        readings=expand(result("analysis/{lang}/readings.json"), lang=studies.languages),
        style=figure_styles(),
    output:
        **figure("figure_readings", "studies", run.readings),
    log:
        result("logs/figure_readings.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        titles=run.titles(studies.languages),
        readings=studies.rows(),
        code=code_of("figure_readings.py"),
    script:
        "../scripts/figure_readings.py"


rule figure_rankings:
    """How stable the ranking of the ablation losses is: Spearman's correlation of two rankings, by
    the number of pruning iterations between them. A point is the mean over all pairs of rankings at
    that distance; its band reaches from the lowest to the highest pair and is no confidence
    interval. The paper says that the list "stays relatively stable over dozens of iterations"
    (Section 3). We take that to hold where the mean over all pairs on or right of the upright grey
    line reaches the level grey line.
    """
    input:
        rankings=of_each(
            "analysis/{lang}/train/{tok}/rankings.parquet",
            run.pruned_from_bpe("sage"),
        ),
        paper=resource("paper_values.yaml"),
        style=figure_styles(),
    output:
        **figure("figure_rankings", "paper", run.pruned_from_bpe("sage")),
    log:
        result("logs/figure_rankings.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        titles=run.titles(run.languages),
        ranked=run.labels(run.pruned_from_bpe("sage")),
        presets=run.presets(run.pruned_from_bpe("sage")),
        labels=run.labels(run.ordered_tokenizers),
        code=code_of("figure_rankings.py"),
    script:
        "../scripts/figure_rankings.py"
