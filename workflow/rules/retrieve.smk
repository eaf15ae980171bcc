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


# What is below retrieved/ -> the source that it is, as arguments of `run.source`.
RETRIEVED = {run.retrieved_path(*named): named for named in run.sources}


rule retrieve_source:
    """What a source has, as it came: a dump, a text, rows of a task, a list of segmented words."""
    input:
        ignore_dates_of_scripts,
    output:
        raw=result("retrieved/{source}"),
        description=result("retrieved/{source}.source.json"),
    wildcard_constraints:
        source=any_of(RETRIEVED),
    localrule: True
    conda:
        "../../envs/corpus.yaml"
    params:
        # What depends on the output is not compared with the last run's.
        source=lambda wildcards, output: run.source(*RETRIEVED[wildcards.source]),
        decisive=lambda wildcards: run.source(*RETRIEVED[wildcards.source]).decisive,
        cache_dir=uncompared(run.config.download_dir),
        sample=lambda wildcards: dump_sample(run, *RETRIEVED[wildcards.source]),
        seed=run.seed,
    script:
        "../scripts/retrieve_source.py"
