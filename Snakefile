"""Reproduction of "Incorporating Context into Subword Vocabularies" (SaGe, EACL 2023).

    snakemake --cores 2 all                                        the paper's settings
    snakemake --configfile config/demo.yaml --cores 2 all          small, in minutes, no network
    snakemake --configfile config/demo.yaml --cores 2 figure_fertility

Every table and figure is a target of its own name. README.md maps them to the paper.
"""

import os
import sys

from sagevocab.config import check_config
from sagevocab.errors import UserError
from snakemake.utils import min_version

min_version("9.20")


configfile: "config.yaml"


try:
    check_config(config)
except UserError as error:
    sys.exit(f"error: {error}")


# `script:` runs under Snakemake's own Python; this makes `shell:` agree with it.
shell.prefix(f"export PATH={os.path.dirname(sys.executable)}:$PATH; ")


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/retrieve.smk"
include: "workflow/rules/corpus.smk"
include: "workflow/rules/vocabulary.smk"
include: "workflow/rules/intrinsic.smk"
include: "workflow/rules/studies.smk"
include: "workflow/rules/pretrain.smk"
include: "workflow/rules/learning_curves.smk"
include: "workflow/rules/finetune.smk"
include: "workflow/rules/paper.smk"
include: "workflow/rules/studies_paper.smk"
include: "workflow/rules/reference.smk"


rule all:
    """Every table, every figure, the claims and the report page."""
    default_target: True
    input:
        result("report.html"),
        result("claims.json"),
        artefacts(FIGURES + TABLES),
        targets_of("models"),


rule retrieve:
    """Everything that comes from outside, and nothing more: run it where there is a network."""
    input:
        targets_of("retrieved"),


rule vocabularies:
    """Every tokenizer of every language as a folder that `AutoTokenizer` loads."""
    input:
        targets_of("vocabularies"),


rule intrinsic:
    """What can be measured without a language model (paper, Section 4)."""
    input:
        targets_of("analysis"),
        artefacts(INTRINSIC_FIGURES + INTRINSIC_TABLES),


rule studies:
    """The readings of the loss, other samples and other settings: vocabularies, tables, figures."""
    input:
        targets_of("studies"),
        artefacts(STUDY_FIGURES + STUDY_TABLES),


rule downstream:
    """Language models and their scores (paper, Section 5)."""
    input:
        # A function, so that runs without models only fail where they are asked for.
        lambda wildcards: downstream_targets(),


rule paper:
    """The tables, figures and claims, without the report page."""
    input:
        result("claims.json"),
        artefacts(FIGURES + TABLES),
