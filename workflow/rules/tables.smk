# The tables of the paper, of its appendix and of the studies, one rule a table.
#
# In:    corpora, vocabularies, measurements, scores and claims; workflow/resources/paper_values.yaml
# Out:   tables/NAME.tex, .csv (bare numbers), .json and .md, where NAME is the rule
# Steps: read, compare BPE with each SaGe tokenizer, set the paper's values beside this run's
#
# Captions and groups are given as in figures.smk.

# The rules whose time and memory table_costs adds up: all that came before, in their order.
STAGES = [Path(str(rule.benchmark)).parent.name for rule in workflow.rules if rule.benchmark]


rule table_nulls:
    """What of the paper is SaGe, and what is pruning: the main statements measured on vocabularies
    that are pruned from the same initial one to the same size without contexts, at random and of
    the least frequent pieces, beside each SaGe tokenizer. A statement that a random pruning meets
    as well says nothing of contexts. The csv file has all statements that vocabularies and counts
    decide. The paper has no such table.
    """
    input:
        claims=result("claims.json"),
        paper=resource("paper_values.yaml"),
    output:
        **table("table_nulls", "paper", run.compared_with_nulls),
    log:
        result("logs/table_nulls.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(run.pruned_from_bpe("sage")),
        languages=run.languages,
        titles=run.titles(run.languages),
        tokenizers=run.pruned_from_bpe("sage"),
        caption=caption_of("table_nulls"),
        code=code_of("table_nulls.py"),
    script:
        "../scripts/table_nulls.py"


rule table_claims:
    """The paper's main numbers and statements beside those of each SaGe tokenizer of the run, with
    95 % intervals and verdicts. A row is one statement in one language. All other claims, and the
    rules of the verdicts, are in ``claims.md``.
    """
    input:
        claims=result("claims.json"),
        paper=resource("paper_values.yaml"),
    output:
        **table("table_claims", "paper", run.compared and run.pruned_from_bpe("sage")),
    log:
        result("logs/table_claims.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(run.pruned_from_bpe("sage")),
        languages=run.languages,
        titles=run.titles(run.languages),
        tokenizers=run.pruned_from_bpe("sage"),
        pretrain=config["lm"]["pretrain"] if run.models else None,
        caption=caption_of("table_claims"),
        code=code_of("table_claims.py"),
    script:
        "../scripts/table_claims.py"


rule table_examples:
    """Sentences of the training corpus with a piece that BPE keeps and SaGe drops, under both
    tokenizers; the words that hold it are in bold (paper, Table 1). The piece with the most
    distinct contexts is shown, each context by its shortest plain sentence among the first 100,000
    lines. Below stand the paper's own three sentences, segmented by this run and as printed.
    |greedy|
    """
    input:
        lines=expand(result("corpus/{lang}.txt.zst"), lang=run.example_languages),
        descriptions=run.descriptions(run.example_languages),
        pieces=of_each("vocab/{lang}/{tok}/pieces.txt", run.compared, run.example_languages),
        paper=resource("paper_values.yaml"),
    output:
        **table("table_examples", "intrinsic", run.example_languages),
    log:
        result("logs/table_examples.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(run.compared),
        **run.word_settings,
        languages=run.example_languages,
        titles=run.titles(run.example_languages),
        sources=run.text_sources(run.example_languages),
        caption=caption_of("table_examples"),
        code=code_of("table_examples.py"),
    script:
        "../scripts/table_examples.py"


rule table_retokenization:
    """An ablation that changes a token within the window around a distant target, though the
    ablated piece stands outside the window (paper, Table 2). Brackets hold the window, bold marks
    the tokens of re-segmented words. Below stands the paper's example as printed.
    """
    input:
        lines=expand(result("corpus/{lang}.txt.zst"), lang=run.example_languages),
        descriptions=run.descriptions(run.example_languages),
        initial=expand(result("vocab/{lang}/bpe_initial/pieces.txt"), lang=run.example_languages),
        ablations=of_each(
            "vocab/{lang}/{tok}/ablations.parquet", run.compared_sage, run.example_languages
        ),
        paper=resource("paper_values.yaml"),
    output:
        **table("table_retokenization", "intrinsic", run.compared_sage and run.example_languages),
    log:
        result("logs/table_retokenization.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(run.compared_sage),
        **run.word_settings,
        languages=run.example_languages,
        titles=run.titles(run.example_languages),
        sources=run.text_sources(run.example_languages),
        window=2,
        caption=caption_of("table_retokenization"),
        code=code_of("table_retokenization.py"),
    script:
        "../scripts/table_retokenization.py"


rule table_frequencies:
    """Pieces whose frequency on the training corpus differs most between BPE and each SaGe
    tokenizer, each way (paper, Section 4, “Token Frequency”). The paper's twelve pieces are marked
    with an asterisk where they are among them, and listed with this run's counts in any case.
    |greedy|
    """
    input:
        frequencies=of_each("analysis/{lang}/train/{tok}/frequencies.parquet", run.compared),
        paper=resource("paper_values.yaml"),
    output:
        **table("table_frequencies", "intrinsic", run.compared),
    log:
        result("logs/table_frequencies.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(run.compared),
        languages=run.languages,
        titles=run.titles(run.languages),
        top=10,
        caption=caption_of("table_frequencies"),
        code=code_of("table_frequencies.py"),
    script:
        "../scripts/table_frequencies.py"


rule table_tokenizers:
    """What is usually reported of tokenizers, for every tokenizer of the run on every text: tokens
    per word (fertility), characters and bytes per token (compression), words kept whole, tokens
    that start a word, pieces in use, and how evenly the pieces are used (Shannon and Rényi
    efficiency). The paper has no such table. BPE and every reading of SaGe segment greedily, the
    others by their own method or as their brackets say. Where a list of segmented words is given,
    the last column says how well a tokenizer's boundaries agree with those between morphemes. Mean
    lengths and all intervals are in the csv file.
    """
    input:
        summaries=run.analysis_files(run.ordered_tokenizers, "summary.json"),
        morphology=of_each(
            "analysis/{lang}/morphology/{tok}.json", run.ordered_tokenizers, run.morpheme_languages
        ),
    output:
        **table("table_tokenizers", "intrinsic"),
    log:
        result("logs/table_tokenizers.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(run.ordered_tokenizers),
        texts=run.measured_texts(),
        listed=run.titles(run.morpheme_languages),
        caption=caption_of("table_tokenizers"),
        code=code_of("table_tokenizers.py"),
    script:
        "../scripts/table_tokenizers.py"


rule table_hyperparameters_vocabulary:
    """Hyperparameters of vocabulary creation: the values of this run's configuration beside the
    paper's (Appendix A), then those that the paper leaves open.
    """
    input:
        paper=resource("paper_values.yaml"),
    output:
        **table("table_hyperparameters_vocabulary", "intrinsic"),
    log:
        result("logs/table_hyperparameters_vocabulary.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        stage="vocabulary",
        settings={
            "vocabulary": config["vocabulary"],
            "sage": config["sage"],
            "word2vec": config["word2vec"],
            "tokenizer_settings": run.sage_settings,
            "seed": config["seed"],
        },
        caption=caption_of("table_hyperparameters_vocabulary"),
        code=code_of("table_hyperparameters_vocabulary.py"),
    script:
        "../scripts/table_hyperparameters_vocabulary.py"


rule table_sequence:
    """Scores on the validation sets of the sequence-level tasks: mean over the fine-tuning seeds,
    with the standard deviation where there are several (paper, Section 5). An asterisk marks a
    difference from BPE that is significant (table_differences). The paper's rows are means of three
    runs. |constructed|
    """
    input:
        scores=run.score_files(run.tasks_of_kind("sequence")),
        differences=[result("tables/table_differences.csv")] if run.compared_tasks else [],
        paper=resource("paper_values.yaml"),
    output:
        **table("table_sequence", "downstream", run.models and run.tasks_of_kind("sequence")),
    log:
        result("logs/table_sequence.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(run.models),
        printed="table_sequence",
        tasks=run.task_columns(run.tasks_of_kind("sequence")),
        tokenizers=run.models,
        budget=run.model_budget,
        caption=caption_of("table_sequence"),
        code=code_of("table_sequence.py"),
    script:
        "../scripts/table_sequence.py"


use rule table_sequence as table_ner with:
    """F1 of entity spans on the validation sets: mean over the fine-tuning seeds, with the standard
    deviation where there are several (paper, Section 5). An asterisk marks a difference from BPE
    that is significant (table_differences). The paper's rows are means of three runs. |constructed|
    """
    input:
        scores=run.score_files(run.tasks_of_kind("tokens")),
        differences=[result("tables/table_differences.csv")] if run.compared_tasks else [],
        paper=resource("paper_values.yaml"),
    output:
        **table("table_ner", "downstream", run.models and run.tasks_of_kind("tokens")),
    log:
        result("logs/table_ner.log"),
    params:
        caption=caption_of("table_ner"),
        printed="table_ner",
        tasks=run.task_columns(run.tasks_of_kind("tokens")),


rule table_differences:
    """Score of each tokenizer's models minus that of BPE's on every task, means over the
    fine-tuning seeds on the validation sets, tested by a paired bootstrap over examples and seeds,
    adjusted by Holm over the paper's tasks (Section 5; its differences beside). |constructed|
    """
    input:
        scores=run.score_files(run.compared_tasks),
        predictions=run.prediction_files(run.compared_tasks),
        logs=run.logs_of(run.compared_tasks),
        paper=resource("paper_values.yaml"),
    output:
        **table("table_differences", "downstream", run.compared_tasks),
    log:
        result("logs/table_differences.log"),
    conda:
        "../../envs/paper.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=60,
    params:
        **run.legend(run.compared_models),
        tasks=run.task_columns(run.compared_tasks),
        tokenizers=run.compared_models,
        readings=run.pruned_from_bpe("sage"),
        pretrained=run.models_fine_tuned,
        seed=config["seed"],
        budget=run.model_budget,
        hours=config["lm"]["pretrain"]["hours"],
        caption=caption_of("table_differences"),
        code=code_of("table_differences.py"),
    script:
        "../scripts/table_differences.py"


use rule table_hyperparameters_vocabulary as table_hyperparameters_pretraining with:
    """Hyperparameters of pre-training: the values of this run's configuration beside the paper's
    (Appendix A), then those that the paper leaves open.
    """
    output:
        **table("table_hyperparameters_pretraining", "downstream", run.models),
    log:
        result("logs/table_hyperparameters_pretraining.log"),
    params:
        caption=caption_of("table_hyperparameters_pretraining"),
        stage="pretraining",
        settings={"lm": {"pretrain": config["lm"]["pretrain"]}},


use rule table_hyperparameters_vocabulary as table_hyperparameters_finetuning with:
    """Hyperparameters of fine-tuning: the values of this run's configuration beside the paper's
    (Appendix A), then those that the paper leaves open.
    """
    output:
        **table("table_hyperparameters_finetuning", "downstream", run.models),
    log:
        result("logs/table_hyperparameters_finetuning.log"),
    params:
        caption=caption_of("table_hyperparameters_finetuning"),
        stage="finetuning",
        settings={"lm": {"finetune": config["lm"]["finetune"]}},
        budget=run.model_budget,
        tasks=run.task_columns(run.tasks),


rule table_ngrams:
    """Bits per character that n-grams of each tokenizer's pieces need for whole held-out lines, by
    order, and their differences from BPE's on the same lines. The gain from context is what the two
    pieces before save. Modified Kneser-Ney estimates have no seeds; intervals are 95 % bootstrap
    intervals over held-out lines. The csv file has all orders and numbers of training lines. The
    paper has no such table.
    """
    input:
        ngrams=of_each(
            "analysis/{lang}/ngrams/{tok}.parquet", run.ordered_tokenizers, run.ngram_languages
        ),
    output:
        **table("table_ngrams", "intrinsic", run.ngram_languages),
    log:
        result("logs/table_ngrams.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(run.ordered_tokenizers),
        titles=run.titles(run.ngram_languages),
        baseline=run.labels(["bpe"])[0],
        seed=config["seed"],
        caption=caption_of("table_ngrams"),
        code=code_of("table_ngrams.py"),
    script:
        "../scripts/table_ngrams.py"


rule table_evidence:
    """What each tokenizer's pieces are worth by several methods, as differences from BPE: n-grams of
    pieces, linear probes of pieces and of frozen skip-gram vectors of them, and language models,
    causal and masked, where the run has some. Probes test segmentations and are no language models.
    Beside the differences stand the smallest that can be seen and the paper's, of fine-tuned
    models. The csv file has all splits, intervals and p-values. The paper has no such table.
    |constructed|
    """
    input:
        ngrams=of_each(
            "analysis/{lang}/ngrams/{tok}.parquet", run.ordered_tokenizers, run.ngram_languages
        ),
        probes=run.probe_files(),
        causal=run.causal_files(run.causal_tokenizers),
        differences=[result("tables/table_differences.csv")] if run.compared_tasks else [],
        curves=[result("tables/table_learning_curves.csv")] if run.compared_curves else [],
        paper=resource("paper_values.yaml"),
    output:
        **table("table_evidence", run.evidence_target, run.has_evidence),
    log:
        result("logs/table_evidence.log"),
    conda:
        "../../envs/paper.yaml"
    resources:
        mem_mb=memory(6000),
        runtime=60,
    params:
        **run.legend(run.ordered_tokenizers),
        **run.causal_parameters,
        compared=run.labels(run.causal_tokenizers),
        nulls=run.labels(run.unseeded_nulls),
        titles=run.titles(run.ngram_languages),
        tasks=run.probed_tasks(),
        seeds=config["probes"]["seeds"],
        task_languages=run.task_languages(),
        baseline=run.labels(["bpe"])[0],
        seed=config["seed"],
        caption=caption_of("table_evidence"),
        code=code_of("table_evidence.py"),
    script:
        "../scripts/table_evidence.py"


rule table_learning_curves:
    """Where the learning curves end, beside what tables of frequencies reach on the same words, and
    what each model needs to get as far as BPE's. All models were asked for the same words of the
    same held-out lines. Intervals are over these lines and, where a model was pretrained several
    times, over the seeds. Effort is given in updates, characters and time: until BPE's final bits
    per character, and relative to BPE's for the worse of the two final values. The paper leaves
    this comparison to future work (Section 4, “Subword Fertility”).
    """
    input:
        **run.curves(run.curve_languages),
    output:
        **table("table_learning_curves", "downstream", run.curve_languages),
    log:
        result("logs/table_learning_curves.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        titles=run.titles(run.curve_languages),
        compared=run.labels(run.models),
        presets=run.presets(run.models),
        baseline=run.curve_baseline,
        pretrain=config["lm"]["pretrain"],
        seed=config["seed"],
        caption=caption_of("table_learning_curves"),
        code=code_of("table_learning_curves.py"),
    script:
        "../scripts/table_learning_curves.py"


rule table_costs:
    """Time and memory of every stage, for BPE, for each SaGe tokenizer and for all jobs together;
    last, all that each vocabulary takes, as a multiple of BPE's time (paper, “Limitations”). The
    numbers come from clocks and differ between equal runs.
    """
    input:
        vocabularies=run.vocabulary_files(),
        analysis=run.analysis_files(run.tokenizers, "summary.json"),
        models=run.model_files(),
        scores=run.score_files(run.tasks),
        studies=studies.files(),
    output:
        **table("table_costs", "paper"),
    log:
        result("logs/table_costs.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        **run.legend(run.paper_tokenizers),
        benchmarks=result("benchmarks"),
        stages=STAGES,
        languages=run.languages,
        titles=run.titles(run.languages),
        tokenizers=run.paper_tokenizers,
        starts={n: run.start(n) for n in run.sage_settings if run.contexts(n) != "zero"},
        budget=run.model_budget if run.models else None,
        tasks=run.task_columns(run.tasks),
        caption=caption_of("table_costs"),
        code=code_of("table_costs.py"),
    script:
        "../scripts/table_costs.py"


rule table_readings:
    """What each reading of the ablation loss reproduces, and what it changes. The paper's text has
    the total loss over the corpus, context vectors of their own and a greedy decoder; the program
    that was released has a mean over lines, one matrix for targets and contexts, and the merges.
    Each reading is made on one seeded sample of each training corpus with several seeds and judged
    by the paper's own statements, as the claims of this run are; the presets stand below at full
    size, from the run's own vocabularies. The last columns are what a language model would notice:
    the length of its sequences, words kept whole or cut to pieces, and contexts per occurrence.
    Everything is segmented greedily. The CSV names every setting, and has every claim's verdict
    with every seed. The paper has no such table.
    """
    input:
        readings=expand(result("analysis/{lang}/readings.json"), lang=studies.languages),
    output:
        **table("table_readings", "studies", run.readings),
    log:
        result("logs/table_readings.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        titles=run.titles(studies.languages),
        readings=studies.rows(),
        caption=caption_of("table_readings"),
        code=code_of("table_readings.py"),
    script:
        "../scripts/table_readings.py"


use rule table_readings as table_readings_claims with:
    """Which reading of the ablation loss reproduces which statement of the paper: one column a
    reading on the sample, by the verdict that most seeds give, and the run's own tokenizers at full
    size in the lettered columns. The statements are those about the training corpus that a
    vocabulary and its counts decide; tests are adjusted by Holm within a build and language. The
    paper has no such table.
    """
    output:
        **table("table_readings_claims", "studies", run.readings),
    log:
        result("logs/table_readings_claims.log"),
    params:
        caption=caption_of("table_readings_claims"),


rule table_stability:
    """How much of a vocabulary stays the same with another seed or another sample of the corpus.
    SaGe is shown in its presets, beside BPE, which has no seed. Shares are of all pieces and of the
    pruned ones. The note below the table gives the share that two random prunings have in common.
    The paper has no such table.
    """
    input:
        vocabularies=studies.stability_files(),
    output:
        **table("table_stability", "studies", run.varied),
    log:
        result("logs/table_stability.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        rows=studies.stability_rows(),
        sizes=[config["vocabulary"][key] for key in ("initial_size", "final_size")],
        caption=caption_of("table_stability"),
        code=code_of("table_stability.py"),
    script:
        "../scripts/table_stability.py"


rule table_sensitivity:
    """What the vocabulary becomes when one setting is another than the paper's: batch (k),
    candidates (M), batches from one ranking to the next (m), rankings from one training of the
    embeddings to the next (l), and the size of the initial vocabulary (n·V). "Another seed" is the
    yardstick: what a change of nothing but the random numbers does. The paper has no such table.
    """
    input:
        builds=studies.sensitivity_files(),
    output:
        **table("table_sensitivity", "studies", any(run.varied.values())),
    log:
        result("logs/table_sensitivity.log"),
    conda:
        "../../envs/paper.yaml"
    params:
        study=studies.sensitivity_run(),
        rows=studies.sensitivity_rows(),
        titles=dict(zip(run.languages, run.titles(run.languages))),
        window=config["analysis"]["windows"][0],
        caption=caption_of("table_sensitivity"),
        code=code_of("table_sensitivity.py"),
    script:
        "../scripts/table_sensitivity.py"
