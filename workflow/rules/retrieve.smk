# Everything that comes from outside: the only rules that need a network.
#
# In:    a `source` of the configuration: a data set of workflow/resources/datasets.yaml, or a file of an
#        installed package. One with a `path:` is used where it is
# Out:   retrieved/corpora/{lang}            as it came, compressed or not
#        retrieved/morphemes/{lang}         a list of segmented words
#        retrieved/domains/{domain}
#        retrieved/tasks/{task}/{split}
#        ....source.json                     what it is: format, licence, URL, size and digest seen
# Steps: look among the finished downloads, else fetch from the first address that gives the file,
#        resuming where a cut download ended; check size and digest; link or copy to its place. Of a
#        dump with an index, or a set of the hub in several files, fetch only as much as `lines` needs


rule retrieve_corpus:
    """The raw text of a language: a Wikipedia dump in the paper (Section 4)."""
    output:
        raw=result("retrieved/corpora/{lang}"),
        description=result("retrieved/corpora/{lang}.source.json"),
    log:
        result("logs/retrieve_corpus/{lang}.log"),
    benchmark:
        result("benchmarks/retrieve_corpus/{lang}.tsv")
    localrule: True
    conda:
        "../../envs/corpus.yaml"
    params:
        **retrieved("language_settings"),
        sample=lambda wildcards: dump_sample(run, wildcards.lang),
        seed=run.seed,
    script:
        "../scripts/retrieve_corpus.py"


rule retrieve_morphemes:
    """A list of words cut into morphemes."""
    output:
        raw=result("retrieved/morphemes/{lang}"),
        description=result("retrieved/morphemes/{lang}.source.json"),
    log:
        result("logs/retrieve_morphemes/{lang}.log"),
    benchmark:
        result("benchmarks/retrieve_morphemes/{lang}.tsv")
    localrule: True
    conda:
        "../../envs/corpus.yaml"
    params:
        **retrieved("morphology"),
        seed=run.seed,
    script:
        "../scripts/retrieve_source.py"


use rule retrieve_morphemes as retrieve_domain with:
    output:
        raw=result("retrieved/domains/{domain}"),
        description=result("retrieved/domains/{domain}.source.json"),
    log:
        result("logs/retrieve_domain/{domain}.log"),
    benchmark:
        result("benchmarks/retrieve_domain/{domain}.tsv")
    localrule: True
    params:
        **retrieved("domain_settings"),


use rule retrieve_morphemes as retrieve_task with:
    output:
        raw=result("retrieved/tasks/{task}/{split}"),
        description=result("retrieved/tasks/{task}/{split}.source.json"),
    log:
        result("logs/retrieve_task/{task}.{split}.log"),
    benchmark:
        result("benchmarks/retrieve_task/{task}.{split}.tsv")
    localrule: True
    params:
        **retrieved("task_settings"),
