"""Reproduction of "Incorporating Context into Subword Vocabularies" (SaGe, EACL 2023).

    snakemake --cores 2 all                                        the paper's settings
    snakemake --configfile config/demo.yaml --cores 2 all          small, in minutes, no network
    snakemake --configfile config/demo.yaml --cores 2 figure_fertility

Every table and figure is a target of its own name. README.md maps them to the paper.
"""

from snakemake.utils import min_version

min_version("9.20")


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/retrieve.smk"
include: "workflow/rules/corpus.smk"
include: "workflow/rules/vocabulary.smk"
include: "workflow/rules/analysis.smk"
include: "workflow/rules/models.smk"
include: "workflow/rules/paper.smk"


rule all:
    """Every table, every figure, the claims and the report page."""
    default_target: True
    input:
        result("report.html"),
        OF_PAPER.values(),
        artefact_files(run, ARTEFACTS),
        rules.write_cards.output,
        run.model_files(),


rule retrieve:
    """Everything that comes from outside, and nothing more: run it where there is a network."""
    input:
        retrieved_files(run),


rule vocabularies:
    """Every tokenizer of every language as a folder that `AutoTokenizer` loads."""
    input:
        run.vocabulary_files(),
        rules.write_cards.output,


rule intrinsic:
    """What can be measured without a language model (paper, Section 4)."""
    input:
        run.analysis_files(run.tokenizers, "summary.json"),
        artefact_files(run, part_of("intrinsic")),


rule downstream:
    """Language models and their scores (paper, Section 5)."""
    input:
        # A function, so that runs without models fail only where their targets are named.
        downstream_targets,


rule paper:
    """The tables, figures, claims and findings, without the report page."""
    input:
        OF_PAPER.values(),
        artefact_files(run, ARTEFACTS),


# By their names here: a workflow that uses this one as a module may have others, and rules of its own.
OWN = {name: one.rule for name, one in rules._rules.items()}
for name, one in OWN.items():
    # `snakemake --list-target-rules` shows a line of each.
    one.docstring = first_sentence(one.docstring)
    if not one.script:
        continue
    # An edit of a module reruns the rules whose scripts import it. Trainings cost days: they have a
    # `version` instead, which is raised by hand.
    if not {"code", "version"} & {*one.params.keys()}:
        one.set_params(code=code_of(Path(one.script).name))
    # A log and a benchmark of every job: RULE/WILDCARDS, in the order of its first file.
    one.log_modifier = one.benchmark_modifier = one.output_modifier
    job = Path(name, ".".join(wildcards_of(one.output[0])))
    if not one.log:
        one.set_log(result(f"logs/{job}.log"))
    if not one.benchmark:
        one.benchmark = result(f"benchmarks/{job}.tsv")
FILES = [str(file) for one in OWN.values() for file in one.output if not file.contains_wildcard()]
TARGETS = [*OWN, *FILES]
# A module does not know the targets of the workflow that uses it.
for line in hints(
    sys.argv[1:] if alone else [],
    TARGETS,
    lambda file: any(o.is_producer(file) for o in OWN.values()),
):
    print(line, file=sys.stderr)
