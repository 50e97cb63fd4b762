# fmt: off
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from pydantic import BaseModel
from typing_extensions import assert_type

import interlock.agent as il
import interlock.statechart as sc


class Ping(il.Event):
    count: int


class Pong(il.Event):
    name: str


@dataclass(frozen=True)
class Counter:
    count: int = 0


class Loose(TypedDict):
    count: int
    name: str


class Order(BaseModel):
    text: str


class Receipt(BaseModel):
    total: int


# A dataclass, with input and output.
one = il.setup_agent(context=Counter, events=[Ping, Pong], input=Order, output=Receipt)
assert_type(
    one.machine("one", context=lambda order: Counter(len(order.text)), initial="a", states={"a": one.state()}),
    sc.Machine[Counter, Order, Receipt],
)
one.on(Ping, lambda c, e: one.stay(count=c.count + e.count))

# A TypedDict: moves name any of its fields.
two = il.setup_agent(context=il.mapping(Loose), events=[Ping, Pong])
assert_type(
    two.machine("two", context={"count": 0, "name": ""}, initial="a", states={"a": two.state()}),
    sc.Machine[Loose, None, object],
)
two.on(Ping, lambda c, e: two.stay(count=c["count"] + e.count))
two.on(Pong, lambda c, e: two.goto("a", name=c["name"] + e.name))

# No type at all: any mapping.
three = il.setup_agent(events=[Ping, Pong])
assert_type(
    three.machine("three", context={"count": 0}, initial="a", states={"a": three.state()}),
    sc.Machine[Mapping[str, Any], None, object],
)
three.on(Ping, lambda c, e: three.stay(count=c["count"] + e.count, anything="goes"))
