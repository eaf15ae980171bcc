# Intrinsic measurements (paper, Section 4).
#
# In:    corpus/{lang}.{corpus}.words.npz, a text as word types; the training corpus or a domain
#        vocab/{lang}/{tok}/, a tokenizer
# Out:   analysis/{lang}/{corpus}/{tok}/
#            frequencies.parquet   how often each piece occurs
#            fertility.parquet     words by their number of subwords
#            neighbours.parquet    distinct pieces within each window of each piece
#            lines.parquet         words and tokens of each line, for tests paired over lines
#            summary.json          fertility, compression, entropy and the other measures of peers
#            rankings.parquet      SaGe: losses of all pieces left at several batches
#        analysis/{lang}/ngrams/{tok}.parquet    bits of held-out lines, by order and training lines
#        analysis/{lang}/vectors/{tok}.npz       skip-gram vectors of the pieces, by seed
#        analysis/{lang}/probes/{tok}/{task}.parquet   what probes answer: split, example, label (or
#                                                tags), pieces, and vectors_1 and so on, by seed
#        analysis/{lang}/morphology/{tok}.json   boundaries against a list of morphemes, if given;
#                                                word by word in {tok}.parquet
# Steps: segment each word type once, then count over the sequence of types


# To count takes seconds, about as long as a process needs to start: one job counts on one text what
# is wanted together, and no figure waits for vocabularies that it does not show.
# The simple controls that figures show as thin lines, and what no figure of fertility shows.
THIN = [tok for tok in run.simple_controls if tok not in run.compared]
OTHERS = [tok for tok in run.tokenizers if tok not in (*run.compared, *THIN)]
# What is written of a vocabulary as tables, and what statistics are computed from.
COUNTS = ("frequencies.parquet", "fertility.parquet", "neighbours.parquet", "lines.parquet")
# Name of a group -> its tokenizers.
COUNTED = {
    "compared": run.compared,
    "thin": THIN,
    "others": OTHERS,
    "seeds": [tok for tok in run.pruned if tok not in run.tokenizers],
}

for group, tokenizers in COUNTED.items():
    if not tokenizers:
        continue

    rule:
        """Frequencies, fertility and distinct neighbours of a group's tokenizers on one text."""
        name:
            f"count_pieces_{group}"
        input:
            words=result("corpus/{lang}.{corpus}.words.npz"),
            pieces=of_tokenizers("vocab/{lang}/{tok}/pieces.txt", tokenizers),
            tokenizers=of_tokenizers("vocab/{lang}/{tok}/tokenizer.json", tokenizers),
            settings=of_tokenizers("vocab/{lang}/{tok}/tokenizer_config.json", tokenizers),
        output:
            *(
                of_tokenizers(f"analysis/{{lang}}/{{corpus}}/{{tok}}/{name}", tokenizers)
                for name in COUNTS
            ),
            summaries=of_tokenizers("analysis/{lang}/{corpus}/{tok}/summary.json", tokenizers),
        conda:
            "../../envs/analyse.yaml"
        params:
            windows=run.config.analysis.windows,
            efficiency_lines=run.config.analysis.efficiency_lines,
            seed=run.seed,
        script:
            "../scripts/count_pieces.py"


rule measure_rankings:
    """The losses of all pieces, taken anew at several batches of a finished pruning (Section 3)."""
    input:
        unpack(initial_files),
        words=result("corpus/{lang}.train.words.npz"),
        embeddings=first_embeddings,
        ablations=result("vocab/{lang}/{tok}/ablations.parquet"),
    output:
        rankings=result("analysis/{lang}/train/{tok}/rankings.parquet"),
    wildcard_constraints:
        tok=any_of(run.sage_readings),
    conda:
        "../../envs/vocabulary.yaml"
    threads: 2
    resources:
        mem_mb=memory(12000),
        runtime=240,
    params:
        sage=sage_settings,
    script:
        "../scripts/measure_rankings.py"


rule measure_morphology:
    """How well one tokenizer's boundaries agree with those between morphemes of listed words."""
    input:
        **tokenizer_files("vocab/{lang}/{tok}"),
        morphemes=morphemes,
    output:
        agreement=result("analysis/{lang}/morphology/{tok}.json"),
        words=result("analysis/{lang}/morphology/{tok}.parquet"),
    conda:
        "../../envs/analyse.yaml"
    params:
        **run.word_settings,
        format=lambda wildcards: run.source("morphology", wildcards.lang).format,
        seed=run.seed,
    script:
        "../scripts/measure_morphology.py"


rule measure_ngrams:
    """Bits of held-out lines by Kneser-Ney n-grams of one tokenizer's pieces."""
    input:
        **tokenizer_files("vocab/{lang}/{tok}"),
        words=result("corpus/{lang}.train.words.npz"),
        heldout=result("corpus/{lang}.heldout.txt.zst"),
    output:
        ngrams=result("analysis/{lang}/ngrams/{tok}.parquet"),
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=memory(6000),
    params:
        **run.word_settings,
        sizes=run.config.analysis.ngram_lines,
        seed=run.seed,
    script:
        "../scripts/measure_ngrams.py"


rule train_vectors:
    """Skip-gram vectors of a final vocabulary in its own segmentation, with several seeds."""
    input:
        **tokenizer_files("vocab/{lang}/{tok}"),
        words=result("corpus/{lang}.train.words.npz"),
    output:
        vectors=result("analysis/{lang}/vectors/{tok}.npz"),
    conda:
        "../../envs/vocabulary.yaml"
    threads: 2
    resources:
        mem_mb=memory(6000),
        runtime=240,
    params:
        word2vec=word2vec_settings(run.config, trainer="blocks"),
        lines=run.config.probes.vector_lines,
        seeds=run.config.probes.seeds,
    script:
        "../scripts/train_vectors.py"


rule probe_task:
    """What linear probes of one tokenizer's pieces, and of their vectors, answer to a task's rows."""
    input:
        **tokenizer_files("vocab/{lang}/{tok}"),
        train=result("tasks/{task}/train.parquet"),
        validation=result("tasks/{task}/validation.parquet"),
        vectors=[result("analysis/{lang}/vectors/{tok}.npz")] if run.config.probes.seeds else [],
    output:
        answers=result("analysis/{lang}/probes/{tok}/{task}.parquet"),
    wildcard_constraints:
        task=any_of(run.probe_tasks),
    conda:
        "../../envs/analyse.yaml"
    params:
        **run.word_settings,
        kind=lambda wildcards: run.task(wildcards.task).probe_kind,
        seed=run.seed,
    script:
        "../scripts/probe_task.py"
