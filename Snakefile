"""Reproduction of "Incorporating Context into Subword Vocabularies" (SaGe, EACL 2023).

    snakemake --cores 2 all                                        the paper's settings
    snakemake --configfile config/demo.yaml --cores 2 all          small, in minutes, no network
    snakemake --configfile config/demo.yaml --cores 2 figure_fertility

Every table and figure is a target of its own name. README.md maps them to the paper.
"""

from snakemake.utils import min_version

min_version("9.20")


# Rules of a workflow that uses this one as a module.
FOREIGN = {one.name for one in workflow.rules}


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


OWN = [one for one in workflow.rules if one.name not in FOREIGN]
for one in OWN:
    # An edit of a module reruns the rules whose scripts import it. Trainings cost days: they have a
    # `version` instead, which is raised by hand.
    if one.script and not {"code", "version"} & {*one.params.keys()}:
        one.set_params(code=code_of(Path(one.script).name))
    # `snakemake --list-target-rules` shows a line of each.
    one.docstring = first_sentence(one.docstring)
FILES = [str(file) for one in OWN for file in one.output if not file.contains_wildcard()]
TARGETS = [*(one.name for one in OWN), *FILES]
for line in hints(sys.argv[1:], TARGETS, lambda file: any(one.is_producer(file) for one in OWN)):
    print(line, file=sys.stderr)
