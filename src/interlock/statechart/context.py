"""How a machine holds its context: one strategy per kind of immutable data, chosen when the machine is built.

A strategy checks the initial value, applies a patch field by field with the declared validators, and carries the
value over the JSON border. Nothing else in the engine knows what a context is made of.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast, get_type_hints, is_typeddict

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

from interlock.errors import NotJsonError
from interlock.statechart.frozen import EMPTY, FrozenDict, freeze
from interlock.statechart.mutability import find_mutable

__all__ = ["ContextType", "FieldError", "TypeRefusedError", "context_type_of"]


class FieldError(Exception):
    """A patch that the context refuses; the engine turns it into an error that names the place."""

    def __init__(self, code: str, field: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.field = field
        self.reason = reason


class TypeRefusedError(Exception):
    """A type that cannot be a context."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class ContextType(Protocol):
    """What the engine asks of a kind of context."""

    @property
    def name(self) -> str:
        """What it is called in messages and in the structural version."""
        ...

    @property
    def fields(self) -> Mapping[str, Any] | None:
        """Field name to annotation; None where any name may be set."""
        ...

    def check(self, value: Any) -> Any:
        """Return ``value`` as this kind of context; raises FieldError, NotJsonError or TypeError."""
        ...

    def patch(self, context: Any, fields: Mapping[str, Any]) -> Any:
        """Return a new context with ``fields`` changed; raises FieldError."""
        ...

    def dump(self, context: Any) -> Any:
        """Return strict JSON data."""
        ...

    def load(self, data: Any) -> Any:
        """Return the context that :meth:`dump` wrote; raises ValueError or TypeError."""
        ...


def context_type_of(declared: Any, sample: object) -> ContextType:
    """Return the strategy for a declared type (or, where none is declared, for the type of ``sample``)."""
    kind: Any = declared if declared is not None else type(sample)
    if sample is None and declared is None:
        return MappingContext()
    found: type[object] | None = kind if isinstance(kind, type) else None
    if found is not None and issubclass(found, BaseModel):
        return ModelContext(found)
    if found is not None and dataclasses.is_dataclass(found):
        return DataclassContext(found)
    if is_typeddict(kind):
        return TypedMappingContext(kind)
    if found is not None and issubclass(found, Mapping):
        return MappingContext()
    raise TypeRefusedError(
        "invalid-context",
        f"a context of type {getattr(kind, '__name__', kind)!s} is not supported; use a frozen pydantic model, a "
        "frozen dataclass, a TypedDict or a mapping of JSON values",
    )


class MappingContext:
    """An open mapping of JSON values; lists become tuples and dicts read-only mappings."""

    name = "mapping"
    fields: Mapping[str, Any] | None = None

    def check(self, value: Any) -> Any:
        if value is None:
            return EMPTY
        if not isinstance(value, Mapping):
            raise TypeError(f"expected a mapping, got {type(value).__name__}")
        return freeze(dict(cast("Mapping[str, Any]", value)))

    def patch(self, context: Any, fields: Mapping[str, Any]) -> Any:
        new: FrozenDict[str, Any] = FrozenDict(context)
        for name, value in fields.items():
            kept = value
            if value.__class__ is not int and value.__class__ is not bool and value is not None:
                try:
                    kept = freeze(value, name)
                except NotJsonError as error:
                    raise FieldError("invalid-field", name, error.message.removeprefix(f"{name}: ")) from None
            _set_item(new, name, kept)
        return new

    def dump(self, context: Any) -> Any:
        return context

    def load(self, data: Any) -> Any:
        return self.check(data)


class TypedMappingContext(MappingContext):
    """A mapping whose keys and value types a TypedDict declares."""

    def __init__(self, kind: Any) -> None:
        self.name = kind.__name__
        hints = get_type_hints(kind)
        _refuse_mutable(kind)
        self.fields = hints
        # Field by field: pydantic itself takes no typing.TypedDict before Python 3.12.
        self._required: frozenset[str] = kind.__required_keys__
        self._validators: dict[str, TypeAdapter[Any]] = {name: TypeAdapter(hint) for name, hint in hints.items()}
        self._exact = {name: _exact_types(adapter.core_schema) for name, adapter in self._validators.items()}

    def check(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise TypeError(f"expected a mapping, got {type(value).__name__}")
        found = FrozenDict(_validated(cast("Mapping[str, Any]", value), self._validators, self._exact, self.name))
        missing = sorted(self._required - found.keys())
        if missing:
            raise FieldError("invalid-field", missing[0], f"{self.name} requires field {missing[0]!r}")
        return found

    def patch(self, context: Any, fields: Mapping[str, Any]) -> Any:
        return FrozenDict(context) | _validated(fields, self._validators, self._exact, self.name)

    def dump(self, context: Any) -> Any:
        return {
            name: self._validators[name].dump_python(value, mode="json", warnings="error")
            for name, value in context.items()
        }

    def load(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise TypeError(f"expected an object, got {type(data).__name__}")
        given = cast("Mapping[str, Any]", data)
        return self.check(
            {
                name: self._validators[name].validate_json(_json(value)) if name in self._validators else value
                for name, value in given.items()
            }
        )


class ModelContext:
    """A frozen pydantic model. Patches run the model's own field validators, one field at a time."""

    def __init__(self, kind: type[BaseModel]) -> None:
        self.name = kind.__name__
        self._kind = kind
        if not kind.model_config.get("frozen"):
            raise TypeRefusedError(
                "mutable-context",
                f"context model {kind.__name__} can be changed in place; declare it as "
                f"`class {kind.__name__}(BaseModel, frozen=True)`",
            )
        _refuse_mutable(kind)
        self.fields: Mapping[str, Any] = {name: field.annotation for name, field in kind.model_fields.items()}
        schema, whole = _fields_schema(kind)
        self._whole = whole
        self._assign: Callable[..., Any] | None = (
            SchemaValidator(schema).validate_assignment if schema is not None else None
        )
        self._exact = _model_exact_types(schema) if schema is not None else {}
        self._adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def check(self, value: Any) -> Any:
        # An instance is validated again (from its fields): model_construct and defaults may hide bad values.
        if isinstance(value, self._kind):
            value = {
                name: getattr(value, name) for name in self._kind.model_fields if name in value.__pydantic_fields_set__
            }
            return self._kind.model_validate(value, by_name=True)
        return self._kind.model_validate(value)

    def patch(self, context: Any, fields: Mapping[str, Any]) -> Any:
        exact = self._exact
        values: dict[str, Any] = context.__dict__
        values = values.copy()
        if len(values) != len(self.fields):  # a cached property lives beside the fields: it must not survive
            values = {name: values[name] for name in self.fields if name in values}
        for name, value in fields.items():
            allowed = exact.get(name)
            if allowed is not None and value.__class__ in allowed:
                values[name] = value
                continue
            if name not in self.fields:
                raise FieldError("unknown-field", name, f"{self.name} has no field {name!r}")
            if self._whole or self._assign is None:
                values[name] = value
                continue
            try:
                values = self._assign(values, name, value)[0]
            except ValidationError as error:
                raise FieldError("invalid-field", name, _reasons(error)) from None
        if self._whole:
            try:
                return self._kind.model_validate(values, by_name=True)
            except ValidationError as error:
                raise FieldError("invalid-field", ", ".join(fields), _reasons(error)) from None
        new: Any = self._kind.__new__(self._kind)
        known = context.__pydantic_fields_set__
        if not (fields.keys() <= known):
            known = known | fields.keys()
        _set(new, "__dict__", values)
        _set(new, "__pydantic_fields_set__", known)
        _set(new, "__pydantic_extra__", context.__pydantic_extra__)
        _set(new, "__pydantic_private__", context.__pydantic_private__)
        return new

    def dump(self, context: Any) -> Any:
        return self._adapter.dump_python(context, mode="json", by_alias=False, warnings="error")

    def load(self, data: Any) -> Any:
        return self._kind.model_validate_json(_json(data), by_name=True)


class DataclassContext:
    """A frozen dataclass; each field is checked against its annotation."""

    def __init__(self, kind: type[Any]) -> None:
        self.name = kind.__name__
        self._kind: Any = kind
        params = getattr(kind, "__dataclass_params__", None)
        if params is None or not params.frozen:
            raise TypeRefusedError(
                "mutable-context",
                f"context dataclass {kind.__name__} can be changed in place; declare it with @dataclass(frozen=True)",
            )
        _refuse_mutable(kind)
        hints = get_type_hints(kind, include_extras=True)
        self.fields: Mapping[str, Any] = {field.name: hints[field.name] for field in dataclasses.fields(kind)}
        self._adapter: TypeAdapter[Any] = TypeAdapter(kind)
        self._validators: dict[str, TypeAdapter[Any]] = {name: TypeAdapter(hint) for name, hint in self.fields.items()}
        self._exact = {name: _exact_types(adapter.core_schema) for name, adapter in self._validators.items()}
        self._plain = (
            not hasattr(kind, "__post_init__")
            and not hasattr(kind, "__slots__")
            and not hasattr(kind, "__pydantic_validator__")
        )
        self._init_fields = [field.name for field in dataclasses.fields(kind) if field.init]

    def check(self, value: Any) -> Any:
        if isinstance(value, self._kind):
            value = {name: getattr(value, name) for name in self._init_fields}
        return self._adapter.validate_python(value)

    def patch(self, context: Any, fields: Mapping[str, Any]) -> Any:
        changed = _validated(fields, self._validators, self._exact, self.name)
        if self._plain:
            new = self._kind.__new__(self._kind)
            new.__dict__.update(context.__dict__)
            new.__dict__.update(changed)
            return new
        try:
            return dataclasses.replace(context, **changed)
        except Exception as error:  # __post_init__ is the author's code; whatever it raises refuses the patch
            raise FieldError("invalid-field", ", ".join(fields), f"{type(error).__name__}: {error}") from error

    def dump(self, context: Any) -> Any:
        return self._adapter.dump_python(context, mode="json", warnings="error")

    def load(self, data: Any) -> Any:
        return self._adapter.validate_json(_json(data))


_set: Callable[[Any, str, Any], None] = object.__setattr__
_set_item: Callable[[Any, str, Any], None] = dict[str, Any].__setitem__
_SIMPLE: dict[str, type[Any]] = {"int": int, "str": str, "bool": bool, "none": type(None)}


def _validated(
    fields: Mapping[str, Any],
    validators: Mapping[str, TypeAdapter[Any]],
    exact: Mapping[str, tuple[type[Any], ...]],
    owner: str = "the context",
) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for name, value in fields.items():
        allowed = exact.get(name)
        if allowed is None:
            raise FieldError("unknown-field", name, f"{owner} has no field {name!r}")
        if value.__class__ in allowed:
            changed[name] = value
        else:
            try:
                changed[name] = validators[name].validate_python(value)
            except ValidationError as error:
                raise FieldError("invalid-field", name, _reasons(error)) from None
    return changed


def _reasons(error: ValidationError) -> str:
    shown: list[str] = []
    for item in error.errors(include_url=False, include_context=False)[:3]:
        where = ".".join(str(part) for part in item["loc"])
        given = repr(item["input"])
        given = given if len(given) <= 80 else given[:77] + "..."
        shown.append(f"{where + ': ' if where else ''}{item['msg']} (given: {given})")
    return "; ".join(shown)


def _exact_types(schema: Any) -> tuple[type[Any], ...]:
    """Types whose instances this schema accepts unchanged, so that asking the validator would be a waste."""
    kind = schema.get("type")
    if kind in ("default", "nullable"):
        inner = _exact_types(schema["schema"])
        return (*inner, type(None)) if kind == "nullable" and inner else inner
    if kind in _SIMPLE and set(schema) <= {"type", "metadata", "serialization"}:
        return (_SIMPLE[kind],)
    return ()


def _fields_schema(kind: type[BaseModel]) -> tuple[Any | None, bool]:
    """Return the schema of the model's fields, and whether only the whole model can be validated."""
    schema: Any = kind.__pydantic_core_schema__
    definitions: Any = None
    if schema["type"] == "definitions":
        definitions, schema = schema["definitions"], schema["schema"]
    decorators = kind.__pydantic_decorators__
    if schema["type"] != "model" or decorators.model_validators or decorators.root_validators:
        return None, True
    inner: Any = schema["schema"]
    if inner["type"] != "model-fields" or schema.get("post_init"):
        return None, True
    if definitions is not None:
        inner = {"type": "definitions", "definitions": definitions, "schema": inner}
    return inner, False


def _model_exact_types(schema: Any) -> dict[str, tuple[type[Any], ...]]:
    fields = schema["schema"]["fields"] if schema["type"] == "definitions" else schema["fields"]
    return {name: _exact_types(field["schema"]) if not field.get("frozen") else () for name, field in fields.items()}


def _refuse_mutable(kind: type[Any]) -> None:
    found = find_mutable(kind)
    if found is not None:
        raise TypeRefusedError("mutable-context", found)


def _json(data: Any) -> bytes:
    return json.dumps(data, allow_nan=False).encode()
