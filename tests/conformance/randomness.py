"""The dice of the generator: few words, one stream, the same on every platform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Randomness:
    """Draws from one seeded stream."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # no secret hangs on it

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def between(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def one(self, items: Sequence[T]) -> T:
        return items[self._random.randrange(len(items))]

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """``count`` different items, in their given order."""
        chosen = sorted(self._random.sample(range(len(items)), min(count, len(items))))
        return [items[index] for index in chosen]

    def weighted(self, weights: Mapping[T, float]) -> T:
        """A key, as often as its weight says."""
        return self._random.choices(list(weights), list(weights.values()))[0]
