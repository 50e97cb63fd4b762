"""Records that an invocation keeps: what they come to is worked out once, whoever asks and however they have grown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.statechart.owing import NO_RECORDS, Records

calls: list[int] = []


def listed(found: tuple[object, ...], record: object, number: int) -> tuple[object, ...]:
    calls.append(number)
    assert number == len(found)
    return (*found, record)


def summed(found: int, record: int, _number: int) -> int:
    return found + record


def chain(values: list[int]) -> Records:
    records = NO_RECORDS
    for value in values:
        records = records.append(value)
    return records


def test_one_more_record_is_one_more_step():
    records = chain([1, 2, 3])
    assert records.fold(listed, ()) == (1, 2, 3)
    calls.clear()
    more = records.append(4)
    assert more.fold(listed, ()) == (1, 2, 3, 4)
    assert calls == [3]
    assert more.fold(listed, ()) == (1, 2, 3, 4)
    assert calls == [3]


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6), st.randoms(use_true_random=False))
def test_it_is_the_same_in_whatever_order_branches_are_asked(parts: list[list[int]], random):
    trunk = NO_RECORDS
    branches: list[tuple[Records, list[int]]] = [(trunk, [])]
    for part in parts:
        base, said = random.choice(branches)
        for value in part:
            base, said = base.append(value), [*said, value]
            branches.append((base, said))
        for found, values in random.sample(branches, min(3, len(branches))):
            assert found.fold(listed, ()) == tuple(values)
            if random.random() < 0.3:
                assert found.fold(summed, 0) == sum(values)
    for found, values in branches:
        assert found.fold(listed, ()) == tuple(values) == tuple(found)
        assert found[len(values) - 1] == values[-1] if values else not len(found)


def test_of_what_cannot_be_read_nothing_is_remembered():
    def picky(found: int, record: int, _number: int) -> int:
        if record == 3 and broken:
            raise ValueError("not yet")
        return found + record

    broken = True
    records = chain([1, 2, 3])
    for _ in range(2):
        with pytest.raises(ValueError, match="not yet"):
            records.fold(picky, 0)
    broken = False
    assert records.fold(picky, 0) == 6
