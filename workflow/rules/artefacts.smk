# The figures and tables of the paper and of its appendix: a rule of each declaration in
# workflow/reproduction/artefacts.
#
# In:    what its declaration names
# Out:   figures/NAME.pdf and .png, tables/NAME.tex, .csv (bare numbers), .html and .md, where NAME
#        is the declaration's
# Steps: the function reads, and draws or writes

# Figures and tables of the run by name, in the order of their declarations -> the target they are part
# of: intrinsic, downstream or, for what is in neither of these, paper.
ARTEFACTS = {one.name: one.part_of(run) for one in artefacts_of(run)}
TITLES = {one.name: one.title_in(run) for one in artefacts_of(run)}
# What `snakemake --report` shows of each.
SHOWN = {"figure": "pdf", "table": "md"}


def part_of(target):
    """The figures and tables of a target, by name."""
    return [name for name, whole in ARTEFACTS.items() if whole == target]


def files_of(artefact):
    """The files of a figure or a table, by their format."""
    files, shown = places(artefact.name), SHOWN[artefact.kind]
    return {
        **{form: result(path) for form, path in files.items()},
        shown: in_report(files[shown], f"{artefact.kind.title()}s"),
    }


for artefact in registered(run):

    rule:
        name:
            artefact.name
        input:
            **{name: flat(paths) for name, paths in artefact.inputs(run).items()},
        output:
            **files_of(artefact),
        log:
            result(f"logs/{artefact.name}.log"),
        # Two tables are long tests.
        localrule: not artefact.memory
        conda:
            "../../envs/paper.yaml"
        resources:
            **({"mem_mb": memory(artefact.memory), "runtime": 60} if artefact.memory else {}),
        params:
            reads=artefact.inputs(run),
            settings=artefact.arguments(run),
            name=artefact.name,
            # What depends on the output is not compared with the last run's: no figure is drawn
            # again for another caption.
            caption=lambda wildcards, output, artefact=artefact: artefact.caption(run),
            code=code_of("artefact.py", *artefact.functions),
        script:
            "../scripts/artefact.py"

    # What `snakemake --list` shows.
    getattr(rules, artefact.name).rule.docstring = artefact.caption(run)


CAPTIONS = {name: caption(name) for name in ARTEFACTS}


# What two targets were called in version 0.1.
for former in ("figure_nulls", "table_nulls"):

    rule:
        name:
            former
        input:
            getattr(rules, former.replace("nulls", "controls")).output,
