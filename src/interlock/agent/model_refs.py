"""Names of models: opaque to the machine, resolved by whoever carries out its requests."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import NamedTuple, cast

from interlock.agent.reasons import short
from interlock.errors import DefinitionError, InputError

__all__ = ["ModelRef", "checked_models", "near_alias", "parse_model_ref"]


class ModelRef(NamedTuple):
    """A reference taken apart. ``provider`` is None where the reference names none."""

    provider: str | None
    id: str


def parse_model_ref(ref: str) -> ModelRef:
    """Return provider and id of a reference, which a host may use to pick an adapter; split at the first slash.

    >>> parse_model_ref("openrouter/meta/llama-3")
    ModelRef(provider='openrouter', id='meta/llama-3')
    >>> parse_model_ref("quick")
    ModelRef(provider=None, id='quick')

    Raises :class:`InputError` for what is no text, such as the None of a request that names no model.
    """
    if not isinstance(cast("object", ref), str):
        raise InputError(f"parse_model_ref({short(ref)}): give the name of a model", code="invalid-input")
    provider, slash, rest = ref.partition("/")
    return ModelRef(provider, rest) if slash and provider and rest else ModelRef(None, ref)


def checked_models(models: Mapping[str, str] | None) -> dict[str, str]:
    """Return the declared aliases; raises :class:`DefinitionError` for what can be none."""
    if not isinstance(cast("object", models), Mapping | None):
        raise DefinitionError(
            f"models={short(models)}: give aliases and what they stand for, as in {{'quick': 'provider/model-id'}}",
            code="invalid-model",
        )
    found = dict(models or {})
    for alias, ref in found.items():
        if not all(isinstance(cast("object", name), str) and name for name in (alias, ref)):
            raise DefinitionError(
                f"models={{{alias!r}: {short(ref)}}}: an alias and what it stands for are non-empty texts, as in "
                "{'quick': 'provider/model-id'}",
                code="invalid-model",
            )
    return found


def near_alias(model: str, models: Mapping[str, str]) -> str | None:
    """Return the alias for which ``model`` is probably a slip; None for an alias, a declared or any other reference."""
    if "/" in model or model in models or model in models.values():
        return None
    return next(iter(get_close_matches(model, models, n=1, cutoff=0.75)), None)
