"""What vocabularies meet of the paper's statements, SaGe beside its controls."""

from __future__ import annotations

from reproduction.paper.tally import controls_that_agree, tally


def of(name: str, **changes) -> dict:
    """A record of a statement that SaGe does not meet."""
    usual = {
        **{"id": name, "language": "en", "tokenizer": "sage", "value": 0.8, "meets": False},
        **{"uncounted": None, "constructed": False},
        "controls": {"random": [0.1, 0.2, 0.3, 0.4], "counts": [0.5]},
        "agreeing": {"random": 1, "counts": 1},
    }
    return usual | changes


def test_only_statements_that_all_could_be_measured_on_are_counted():
    lacking = {"controls": {"counts": [0.5]}, "agreeing": {"counts": 1}}
    records = [
        of("a"),
        of("b", **lacking),
        of("c", controls={}, agreeing={}),
        of("d", value="kept"),
        of("e", beyond=True),
        of("f", uncounted="variant"),
        of("g", uncounted="definition"),
        of("h", constructed=True),
        of("i", meets=None),
    ]
    assert tally(records)[0] == 1
    assert tally([]) == (0, {})


def test_a_control_meets_a_statement_if_most_of_its_seeds_do():
    assert controls_that_agree(of("a")) == ["counts"]
    assert controls_that_agree(of("a", agreeing={"random": 2, "counts": 0})) == []
    assert controls_that_agree(of("a", agreeing={"random": 3, "counts": 0})) == ["random"]
