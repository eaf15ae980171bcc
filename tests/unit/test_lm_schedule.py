from __future__ import annotations

import pytest

from reproduction.lm.settings import BudgetSchedule, PretrainSettings, crosses


def test_the_rate_rises_over_the_warmup_and_falls_to_nothing():
    schedule = BudgetSchedule(peak=1.0, warmup=0.25, updates=8)
    # In the middle of each eighth: 1/16, 3/16 | 5/16, ... of the budget.
    rates = [schedule.rate(update, 0.0) for update in range(8)]
    assert rates[:2] == pytest.approx([1 / 4, 3 / 4])
    assert rates[2:] == pytest.approx([11 / 12, 9 / 12, 7 / 12, 5 / 12, 3 / 12, 1 / 12])


def test_a_budget_of_time_listens_to_the_clock_alone():
    schedule = BudgetSchedule(peak=2.0, warmup=0.5, updates=None, seconds=10.0)
    assert schedule.share(1000, 5.0) == 0.5
    assert schedule.rate(1000, 2.5) == pytest.approx(1.0)
    assert schedule.rate(7, 7.5) == pytest.approx(1.0)
    assert schedule.rate(7, 11.0) == 0.0


def test_hours_are_seconds_and_steps_take_their_place():
    schedule = PretrainSettings(hours=0.5).budget_schedule()
    assert (schedule.updates, schedule.seconds) == (None, 1800)
    schedule = PretrainSettings(steps=3).budget_schedule()
    assert (schedule.updates, schedule.seconds) == (3, None)


def test_crossing_a_multiple_is_seen_once():
    shares = [update / 10 for update in range(11)]
    pairs = list(zip(shares, shares[1:], strict=False))
    assert [crosses(a, b, 0.3) for a, b in pairs].count(True) == 3
    assert [crosses(a, b, 0.05) for a, b in pairs] == [True] * 10
    assert crosses(0.2, 0.3, 0.3)
    assert not crosses(0.3, 0.4, 0.3)
