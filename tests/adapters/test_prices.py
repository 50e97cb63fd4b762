"""What calls have cost, by a table of prices that others keep."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import genai_prices
import pytest

import interlock as il
from interlock.adapters.prices import Cost, get_cost
from interlock.errors import DefinitionError, InputError
from interlock.statechart.frozen import freeze

AT = datetime(2026, 1, 2, tzinfo=UTC)


def price(model: str, provider: str, **counts: int) -> Decimal:
    """Return what the table itself says."""
    return genai_prices.calc_price(
        genai_prices.Usage(**counts), model, provider_id=provider, genai_request_timestamp=AT
    ).total_price


def entry(index: int, recorded_at: float | None = AT.timestamp(), **usage: object) -> il.LogEntry:
    return il.LogEntry(
        index=index,
        id=f"e{index}",
        machine_id="m",
        machine_version="1",
        status="working",
        recorded_at=recorded_at,
        usage=freeze(usage) if usage else None,
    )


COUNTS = {"input_tokens": 1000, "output_tokens": 100}


def test_a_count_of_tokens_has_a_price():
    cost = get_cost(il.Usage(input_tokens=1000, output_tokens=100), model="openai/gpt-4o", at=AT)
    expected = price("gpt-4o", "openai", **COUNTS)
    assert expected > 0
    assert cost == Cost(total=expected, by_model={"openai/gpt-4o": expected}, currency="USD")
    for same in ({"model": "gpt-4o"}, {"model": "gpt-4o", "provider": "openai"}):
        assert get_cost(il.RunUsage(model_calls=1, **COUNTS), at=AT, **same).total == expected
    own = il.CallUsage(kind="text", request_id="r", model="quick", **COUNTS)
    assert get_cost(own, models={"quick": "openai/gpt-4o"}, at=AT).by_model == {"quick": expected}


def test_tokens_from_a_cache_cost_what_the_table_says():
    usage = il.Usage(input_tokens=1000, output_tokens=100, cached_input_tokens=900, reasoning_tokens=50)
    for model, provider in (("gpt-4o", "openai"), ("claude-sonnet-4-5", "anthropic")):
        expected = price(model, provider, **COUNTS, cache_read_tokens=900, output_reasoning_tokens=50)
        assert get_cost(usage, model=f"{provider}/{model}", at=AT).total == expected
        assert expected < price(model, provider, **COUNTS)


def test_the_entries_of_a_log_are_priced_one_by_one():
    log = [
        entry(0),
        entry(1, model="quick", model_calls=1, **COUNTS),
        entry(2, model="anthropic/claude-sonnet-4-5", model_calls=1, **COUNTS),
        entry(3, model="quick", model_calls=1, **COUNTS),
        entry(4, model="nobody/knows", model_calls=1),
        entry(5, model_calls=1, **COUNTS),
        entry(6, recorded_at=None, model="quick", model_calls=1, **COUNTS),
    ]
    cost = get_cost(log, models={"quick": "openai/gpt-4o"}, model="gpt-4o", at=AT)
    mini, sonnet = price("gpt-4o", "openai", **COUNTS), price("claude-sonnet-4-5", "anthropic", **COUNTS)
    assert cost.by_model == {"quick": 3 * mini, "anthropic/claude-sonnet-4-5": sonnet, "gpt-4o": mini}
    assert cost.total == 4 * mini + sonnet
    assert cost.unmetered_calls == 1


def test_another_provider_has_other_prices():
    for provider in ("azure", "openrouter"):
        ref = "gpt-4o" if provider == "azure" else "openai/gpt-4o"
        cost = get_cost(il.Usage(**COUNTS), model=ref, provider=provider, at=AT)
        assert cost.total == price(ref, provider, **COUNTS)
    assert get_cost(il.Usage(**COUNTS), model="openai/gpt-4o", provider="openai", at=AT).total > 0


def test_models_without_a_price_are_named_and_never_guessed():
    log = [
        entry(1, model="quick", **COUNTS),
        entry(2, model="openai/gpt-4o", **COUNTS),
        entry(3, model="nobody/knows", **COUNTS),
        entry(4, model="my-claude-clone", **COUNTS),
        entry(5, model="quick", **COUNTS),
        entry(6, **COUNTS),
    ]
    with pytest.raises(il.UnknownPriceError, match=r"quick, nobody/knows, my-claude-clone, \(no model\)") as caught:
        get_cost(log)
    assert caught.value.models == ("quick", "nobody/knows", "my-claude-clone", "(no model)")
    assert caught.value.code == "unknown-price"
    with pytest.raises(il.UnknownPriceError):
        get_cost(il.Usage(**COUNTS), model="gpt-4o", provider="nobody")


def test_counts_that_contradict_each_other_have_none():
    with pytest.raises(il.InputError, match="cannot exceed"):
        get_cost(il.Usage(input_tokens=1, cached_input_tokens=2), model="gpt-4o")
    with pytest.raises(il.InputError, match="give entries of a log"):
        get_cost(3, model="gpt-4o")  # type: ignore[arg-type]


def test_nothing_costs_nothing():
    assert get_cost([]) == Cost(total=Decimal(0), by_model={})
    assert get_cost(il.RunUsage(model_calls=2)).unmetered_calls == 2


def test_without_the_package_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(il.MissingExtraError, match=r"interlock\[prices\]") as caught:
        get_cost([])
    assert (caught.value.package, caught.value.extra) == ("genai-prices", "prices")


@pytest.mark.anyio
async def test_a_runs_entries_say_what_it_has_cost():
    agent = il.setup_agent(events=[], output=str)
    machine = agent.machine(
        "m",
        context={},
        initial="a",
        states={
            "a": agent.state(
                invoke=agent.generate_text(
                    model="openai/gpt-4o", prompt="?", on_done=lambda c, text: agent.goto("b", text=text)
                )
            ),
            "b": agent.final(output=lambda c: c["text"]),
        },
    )
    answer = il.TextResult(output="x", usage=il.Usage(**COUNTS))
    clock = il.FakeClock(AT.timestamp())
    result = await il.run_agent(machine, executors=il.ScriptedExecutors(text=[answer]), clock=clock)
    assert get_cost(result.entries).total == price("gpt-4o", "openai", **COUNTS)


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        ([1], {}, "item 0 is no entry of a log: 1"),
        ("abc", {}, "give entries of a log, or a usage, not 'abc'"),
        ({"input_tokens": 1}, {}, "give entries of a log, or a usage, not {'input_tokens'"),
        (None, {}, "give entries of a log, or a usage, not None"),
        ([entry(0, **COUNTS), None], {}, "item 1 is no entry of a log: None"),
        ([entry(0, 1e18, **COUNTS)], {"model": "openai/gpt-4o"}, r"item 0: recorded_at is 1e\+18, no Unix seconds"),
        ([entry(0, model=5, **COUNTS)], {}, "item 0: model is 5"),
        ([entry(0, model="openai/gpt-4o", model_calls="x")], {}, "item 0: model_calls is 'x'"),
        ([], {"model": 5}, "model=5: give a name"),
        ([], {"provider": 5}, "provider=5: give a name"),
        ([], {"at": 5}, "at=5: give a datetime"),
    ],
)
def test_what_has_no_price_because_it_is_no_call_is_said(given: object, named: dict[str, Any], message: str):
    with pytest.raises(InputError, match=f"^get_cost: {message}") as caught:
        get_cost(given, **named)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # wrong on purpose
    assert caught.value.code == "invalid-input"


def test_an_alias_that_is_no_text_is_said():
    with pytest.raises(DefinitionError, match="an alias and what it stands for are non-empty texts"):
        get_cost([], models={5: "openai/gpt-4o"})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]  # wrong
