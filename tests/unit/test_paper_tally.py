"""What vocabularies meet of the paper's statements, SaGe beside its controls."""

from __future__ import annotations

from report_samples import record
from reproduction.paper.tally import controls_that_agree, tally


def of(name: str, group: str, language: str = "en", **changes) -> dict:
    controls = {"random": [0.1, 0.2, 0.3, 0.4], "counts": [0.5]}
    given = {"controls": controls, "agreeing": {"random": 1, "counts": 1}, "meets": False}
    return record(name, "sage", "undecided", group=group, language=language, **given | changes)


def test_vocabularies_are_sorted_by_the_statements_that_they_meet():
    counted = tally([of("a", "x"), of("a", "x", "tr"), of("b", "x"), of("c", "y", meets=True)])
    assert (counted.statements, counted.groups) == (4, 2)
    # A group of three statements counts 1: SaGe meets none of it, and the whole other group.
    assert counted.met == [("counts", 4, 2), ("sage", 1, 1), ("random", 1, 0.5)]


def test_only_statements_that_all_could_be_measured_on_are_counted():
    lacking = {"controls": {"counts": [0.5]}, "agreeing": {"counts": 1}}
    records = [
        of("a", "x"),
        of("b", "x", **lacking),
        of("c", "x", controls={}, agreeing={}),
        of("d", "x", value="kept"),
        of("e", "x", beyond=True),
        of("f", "x", uncounted="variant"),
        of("g", "x", uncounted="definition"),
        of("h", "x", constructed=True),
        of("i", "x", meets=None),
    ]
    assert tally(records).statements == 1
    assert tally([]).met == []


def test_two_sage_tokenizers_share_a_row():
    one = of("a", "x", meets=True)
    counted = tally([one, {**one, "tokenizer": "sage_released", "meets": False}])
    assert counted.statements == 1
    assert ("sage_released", 0, 0) in counted.met and ("sage", 1, 1) in counted.met


def test_a_control_meets_a_statement_if_most_of_its_seeds_do():
    assert controls_that_agree(of("a", "x")) == ["counts"]
    assert controls_that_agree(of("a", "x", agreeing={"random": 2, "counts": 0})) == []
    assert controls_that_agree(of("a", "x", agreeing={"random": 3, "counts": 0})) == ["random"]
