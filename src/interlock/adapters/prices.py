"""What model calls have cost, by the published prices of their providers.

It stands on the package ``genai-prices`` (extra ``prices``), which brings its table along and asks nobody. A price is
never guessed: a model that the table does not have is an error that names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from types import ModuleType
from typing import Any, Protocol, TypeAlias, cast

from interlock.agent.model_refs import checked_models, parse_model_ref
from interlock.agent.reasons import reason_of, short
from interlock.errors import InputError, MissingExtraError, UnknownPriceError

__all__ = ["Cost", "Spent", "Tokens", "get_cost"]

_TOKENS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cached_input_tokens": "cache_read_tokens",
    "reasoning_tokens": "output_reasoning_tokens",
}
"""Our word for each count, and the table's. Both take cached tokens for a part of the input, reasoning for one of the
output."""


class Spent(Protocol):
    """An entry of a log: ``usage`` is what the call behind it has consumed."""

    @property
    def usage(self) -> Mapping[str, Any] | None:
        """The call's model and tokens; None for an entry with no call behind it."""
        ...

    @property
    def recorded_at(self) -> float | None:
        """When, in Unix seconds."""
        ...


class Tokens(Protocol):
    """Counts of tokens: a ``Usage``, a ``CallUsage`` or a ``RunUsage``."""

    @property
    def input_tokens(self) -> int | None:
        """Tokens read, cached ones included."""
        ...

    @property
    def output_tokens(self) -> int | None:
        """Tokens written, those of reasoning included."""
        ...

    @property
    def cached_input_tokens(self) -> int | None:
        """Of those that were read, what came out of a cache."""
        ...

    @property
    def reasoning_tokens(self) -> int | None:
        """Of those that were written, what no reader sees."""
        ...


_MISSING = object()

Given: TypeAlias = "Iterable[Spent] | Tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What calls have cost, in all and by model (as the requests name it).

    ``unmetered_calls`` counts those whose provider has reported no tokens, failed ones among them: they are in no sum.
    """

    total: Decimal
    by_model: Mapping[str, Decimal]
    currency: str = "USD"
    unmetered_calls: int = 0


def get_cost(
    spent: Given,
    /,
    *,
    model: str | None = None,
    provider: str | None = None,
    models: Mapping[str, str] | None = None,
    at: datetime | None = None,
) -> Cost:
    """Return what model calls have cost.

    Arguments:
        spent: entries of a log (``result.entries``, or a thread's from its store), each priced at its time, by the
            model that its request named; or one count of tokens, with ``model=``.
        model: the model of calls that name none; needed for a mere count.
        provider: whose prices count; if not given, what a reference such as ``"openai/gpt-4o"`` says, or whoever makes
            the model.
        models: what the names in requests stand for, as for the adapters: ``{"quick": "openai/gpt-4o-mini"}``.
        at: when a mere count was spent; now, if not given.

    Raises :class:`UnknownPriceError` naming all models without a price, :class:`InputError` for counts that contradict
    each other, and :class:`MissingExtraError`.
    """
    table = _table()
    aliases = checked_models(models)
    for word, given in (("model", model), ("provider", provider)):
        if given is not None and not isinstance(cast("object", given), str):
            raise _wrong(f"{word}={short(given)}: give a name")
    if not isinstance(cast("object", at), datetime | None):
        raise _wrong(f"at={short(at)}: give a datetime")
    sums: dict[str, Decimal] = {}
    unknown: dict[str, None] = {}
    unmetered = 0
    for counts, named, when in _calls(spent, at):
        name = named or model
        found = {theirs: counts[ours] for ours, theirs in _TOKENS.items() if isinstance(counts.get(ours), int)}
        if not {"input_tokens", "output_tokens"} & found.keys():
            unmetered += counts.get("model_calls") or 1
        elif name is None:
            unknown["(no model)"] = None
        else:
            price = _price(table, found, aliases.get(name, name), provider, when)
            if price is None:
                unknown[name] = None
            else:
                sums[name] = sums.get(name, Decimal(0)) + price
    if unknown:
        raise UnknownPriceError(
            f"there is no price for {', '.join(unknown)}; say what a name stands for with models={{name: "
            "'provider/model'}, whose prices count with provider=, and which model it was where none is named with "
            "model=",
            models=tuple(unknown),
        )
    return Cost(total=sum(sums.values(), Decimal(0)), by_model=sums, unmetered_calls=unmetered)


def _calls(spent: Given, at: datetime | None) -> Iterator[tuple[Mapping[str, Any], str | None, datetime | None]]:
    """Yield the counts of each call, its model, and when it was made."""
    if getattr(spent, "input_tokens", _MISSING) is not _MISSING:
        one = {name: getattr(spent, name, None) for name in (*_TOKENS, "model_calls")}
        yield one, getattr(spent, "model", None), at
        return
    given: Any = spent
    if isinstance(given, str | bytes | Mapping) or getattr(given, "__iter__", None) is None:
        raise _wrong(f"give entries of a log, or a usage, not {short(spent)}")
    for number, entry in enumerate(cast("Iterable[Spent]", spent)):
        usage: object = getattr(entry, "usage", _MISSING)
        if usage is _MISSING or not isinstance(usage, Mapping | None):
            raise _wrong(f"item {number} is no entry of a log: {short(entry)}")
        if usage is not None:
            counts = cast("Mapping[str, Any]", usage)
            name, calls = counts.get("model"), counts.get("model_calls")
            if not isinstance(name, str | None) or not isinstance(calls, int | None):
                field, given = ("model", name) if not isinstance(name, str | None) else ("model_calls", calls)
                raise _wrong(f"item {number}: {field} is {short(given)}")
            yield counts, name, _time(getattr(entry, "recorded_at", None), number) or at


def _time(recorded_at: object, number: int) -> datetime | None:
    if recorded_at is None:
        return None
    try:
        return datetime.fromtimestamp(cast("float", recorded_at), UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        raise _wrong(f"item {number}: recorded_at is {short(recorded_at)}, no Unix seconds") from None


def _wrong(reason: str) -> InputError:
    return InputError(f"get_cost: {reason}", code="invalid-input")


def _price(
    table: ModuleType, counts: Mapping[str, int], ref: str, provider: str | None, when: datetime | None
) -> Decimal | None:
    """Return what one call has cost; None where the table does not have the model."""
    named, name = parse_model_ref(ref)
    if provider is not None:
        name = name if named == provider else ref
    try:
        found = table.calc_price(
            table.Usage(**counts), name, provider_id=provider or named, genai_request_timestamp=when
        )
    except LookupError:
        return None
    except Exception as error:
        raise InputError(
            f"the counts {dict(counts)} of model {ref!r} have no price: {reason_of(error)}", code="invalid-input"
        ) from error
    price: Decimal = found.total_price
    return price


def _table() -> ModuleType:
    try:
        import genai_prices
    except ImportError as error:
        raise MissingExtraError(
            "prices need the package 'genai-prices', which is not installed: pip install 'interlock[prices]'",
            package="genai-prices",
            extra="prices",
        ) from error
    return genai_prices
