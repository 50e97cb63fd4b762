"""What the real Chat Completions API refuses with a 400, as far as it is documented or known."""

import base64
import binascii
import json
import re
from collections.abc import Iterator

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MOST_TOOLS = 128
FIELDS = {
    "messages",
    "model",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "metadata",
    "n",
    "parallel_tool_calls",
    "presence_penalty",
    "prompt_cache_key",
    "reasoning_effort",
    "response_format",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
}
ROLES = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal"},
    "tool": {"role", "content", "tool_call_id"},
}
SIGNATURES = {"image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8", "image/webp": b"RIFF"}

# The strict dialect.
KEYWORDS = {
    "type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const", "description", "title",
    "$defs", "$ref", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "minItems", "maxItems",
}  # fmt: skip
FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
TYPES = {"string", "number", "boolean", "integer", "object", "array", "null"}


class RefusedRequestError(Exception):
    """A request that the API refuses; the text says why."""


def need(condition: object, why: str) -> None:
    if not condition:
        raise RefusedRequestError(why)


def check(body: dict) -> None:
    """Raise RefusedRequestError where the API would answer 400."""
    need(isinstance(body, dict), "the body must be a JSON object")
    unknown = sorted(body.keys() - FIELDS)
    need(not unknown, f"Unrecognized request argument supplied: {', '.join(unknown)}")
    need(isinstance(body.get("model"), str) and body["model"], "you must provide a model parameter")
    numbers(body)
    tools(body)
    response_format(body)
    messages(body.get("messages"))


def numbers(body: dict) -> None:
    for name, least, most in (("temperature", 0, 2), ("top_p", 0, 1)):
        if name in body:
            need(isinstance(body[name], int | float), f"Invalid type for '{name}'")
            need(least <= body[name] <= most, f"Invalid '{name}': out of range")
    for name in ("max_completion_tokens", "max_tokens"):
        if name in body:
            need(type(body[name]) is int and body[name] >= 1, f"Invalid '{name}': integer below minimum value")
    need(not {"max_completion_tokens", "max_tokens"} <= body.keys(), "Setting both limits is not supported")
    need("seed" not in body or type(body["seed"]) is int, "Invalid type for 'seed'")
    stop = body.get("stop", [])
    need(isinstance(stop, str) or (len(stop) <= 4 and all(isinstance(item, str) for item in stop)), "Invalid 'stop'")
    need(
        body.get("stream") or "stream_options" not in body, "'stream_options' is only allowed when 'stream' is enabled"
    )
    need(body.get("n", 1) >= 1, "Invalid 'n'")
    for name in ("stream", "parallel_tool_calls"):
        need(isinstance(body.get(name, False), bool), f"Invalid type for '{name}'")


# -- tools ---------------------------------------------------------------------------------------------------------


def tools(body: dict) -> None:
    if "tools" not in body:
        for name in ("tool_choice", "parallel_tool_calls"):
            need(name not in body, f"'{name}' is only allowed when 'tools' are specified")
        return
    offered = body["tools"]
    need(isinstance(offered, list) and offered, "Invalid 'tools': empty array")
    need(len(offered) <= MOST_TOOLS, f"Invalid 'tools': array too long. Expected at most {MOST_TOOLS}")
    names = []
    for number, tool in enumerate(offered):
        where = f"tools[{number}]"
        need(tool.get("type") == "function" and tool.keys() == {"type", "function"}, f"Invalid {where}")
        function = tool["function"]
        need(function.keys() <= {"name", "description", "parameters", "strict"}, f"Unknown parameter in {where}")
        need(NAME.fullmatch(function.get("name", "")), f"Invalid '{where}.function.name': does not match pattern")
        need(len(function.get("description", "")) <= 1024, f"Invalid '{where}.function.description': string too long")
        parameters = function.get("parameters", {"type": "object", "properties": {}})
        schema(parameters, f"function '{function['name']}'", strict=function.get("strict") is True)
        names.append(function["name"])
    need(len(names) == len(set(names)), "Invalid 'tools': function names must be unique")
    choice = body.get("tool_choice", "auto")
    if isinstance(choice, dict):
        need(choice.keys() == {"type", "function"} and choice["type"] == "function", "Invalid 'tool_choice'")
        need(choice["function"].get("name") in names, "Invalid 'tool_choice': function not found in 'tools'")
    else:
        need(choice in ("auto", "none", "required"), "Invalid value for 'tool_choice'")


# -- schemas -------------------------------------------------------------------------------------------------------


def response_format(body: dict) -> None:
    wanted = body.get("response_format")
    if wanted is None:
        return
    need(wanted.get("type") in ("text", "json_object", "json_schema"), "Invalid 'response_format.type'")
    if wanted["type"] == "json_schema":
        inner = wanted.get("json_schema", {})
        need(inner.keys() <= {"name", "description", "schema", "strict"}, "Unknown parameter in 'json_schema'")
        need(NAME.fullmatch(inner.get("name", "")), "Missing or invalid 'response_format.json_schema.name'")
        need(isinstance(inner.get("schema"), dict), "Missing 'response_format.json_schema.schema'")
        schema(inner["schema"], f"response_format '{inner['name']}'", strict=inner.get("strict") is True)


def schema(root: object, what: str, *, strict: bool) -> None:
    need(
        isinstance(root, dict) and root.get("type") == "object", f'Invalid schema for {what}: must be of type "object"'
    )
    assert isinstance(root, dict)
    need("properties" in root, f"Invalid schema for {what}: object schema missing properties")
    for name in references(root):
        need(resolves(root, name), f"Invalid schema for {what}: reference can't resolve {name}")
    if not strict:
        return
    found = {"fields": 0, "choices": 0}
    for part in (root, *root.get("$defs", {}).values()):
        strict_node(part, what, 1, found)
    need(found["fields"] <= 5000, f"Invalid schema for {what}: too many properties")
    need(found["choices"] <= 1000, f"Invalid schema for {what}: too many enum values")


def strict_node(node: dict, what: str, depth: int, found: dict) -> None:
    need(isinstance(node, dict), f"Invalid schema for {what}: not an object")
    need(depth <= 10, f"Invalid schema for {what}: nested too deep")
    unknown = sorted(node.keys() - KEYWORDS)
    need(not unknown, f"Invalid schema for {what}: {unknown} is not permitted")
    if "$ref" in node:
        need(node.keys() == {"$ref"}, f"Invalid schema for {what}: $ref cannot have keywords beside it")
        return
    need("type" in node or "anyOf" in node or "enum" in node or "const" in node, f"Invalid schema for {what}: no type")
    kinds = node.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    need(set(kinds) <= TYPES, f"Invalid schema for {what}: unknown type")
    need(node.get("format", "date") in FORMATS, f"Invalid schema for {what}: format {node.get('format')!r}")
    need("(?" not in node.get("pattern", ""), f"Invalid schema for {what}: pattern not supported")
    found["choices"] += len(node.get("enum", []))
    for member in node.get("anyOf", []):
        strict_node(member, what, depth, found)
    if "object" in kinds:
        fields = node.get("properties", {})
        found["fields"] += len(fields)
        need(
            node.get("additionalProperties") is False, f"Invalid schema for {what}: additionalProperties must be false"
        )
        need(sorted(node.get("required", [])) == sorted(fields), f"Invalid schema for {what}: 'required' must list all")
        for field in fields.values():
            strict_node(field, what, depth + 1, found)
    if "array" in kinds:
        need("items" in node, f"Invalid schema for {what}: array schema missing items")
        strict_node(node["items"], what, depth + 1, found)


def references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def resolves(root: dict, name: str) -> bool:
    at: object = root
    for step in name.removeprefix("#").split("/")[1:]:
        at = at.get(step) if isinstance(at, dict) else None
    return at is not None


# -- messages ------------------------------------------------------------------------------------------------------


def messages(given: object) -> None:
    need(isinstance(given, list) and given, "Invalid 'messages': empty array")
    assert isinstance(given, list)
    waiting: list[str] = []
    for number, message in enumerate(given):
        where = f"messages[{number}]"
        role = message.get("role")
        need(role in ROLES, f"Invalid value for '{where}.role'")
        need(message.keys() <= ROLES[role], f"Unknown parameter in '{where}': {sorted(message.keys() - ROLES[role])}")
        if role == "tool":
            need(message.get("tool_call_id") in waiting, f"{where}: must be a response to a preceding 'tool_calls'")
            waiting.remove(message["tool_call_id"])
            need(isinstance(message["content"], str) and message["content"].strip(), f"Invalid '{where}.content'")
            continue
        need(not waiting, f"An assistant message with 'tool_calls' must be followed by tool messages: {waiting}")
        if role == "assistant":
            waiting = calls(message, where)
            if waiting and message.get("content") is None:
                continue
        content(message.get("content"), role, where)
    need(not waiting, f"An assistant message with 'tool_calls' must be followed by tool messages: {waiting}")


def calls(message: dict, where: str) -> list[str]:
    ids = []
    if "tool_calls" in message:
        need(message["tool_calls"], f"Invalid '{where}.tool_calls': empty array")
    for call in message.get("tool_calls", []):
        need(call.keys() == {"id", "type", "function"} and call["type"] == "function", f"Invalid '{where}.tool_calls'")
        need(isinstance(call["id"], str) and 1 <= len(call["id"]) <= 40, f"Invalid '{where}.tool_calls.id': too long")
        need(call["id"] not in ids, f"Invalid '{where}.tool_calls': duplicate id")
        function = call["function"]
        need(function.keys() == {"name", "arguments"}, f"Invalid '{where}.tool_calls.function'")
        need(NAME.fullmatch(function["name"]), f"Invalid '{where}.tool_calls.function.name': does not match pattern")
        need(isinstance(function["arguments"], str), f"Invalid '{where}.tool_calls.function.arguments'")
        need(isinstance(json.loads(function["arguments"]), dict), f"Invalid '{where}...arguments': no object")
        ids.append(call["id"])
    return ids


def content(given: object, role: str, where: str) -> None:
    if isinstance(given, str):
        need(given.strip(), f"Invalid '{where}.content': text content blocks must be non-empty")
        return
    need(isinstance(given, list) and given, f"Invalid '{where}.content': expected a string or an array of parts")
    assert isinstance(given, list)
    for part in given:
        kind = part.get("type")
        need(kind == "text" or role == "user", f"Invalid '{where}.content': {role} messages hold text")
        need(kind in ("text", "image_url", "input_audio", "file"), f"Invalid '{where}.content.type'")
        need(part.keys() == {"type", kind}, f"Unknown parameter in '{where}.content'")
        if kind == "text":
            need(part["text"].strip(), f"Invalid '{where}.content': text content blocks must be non-empty")
        elif kind == "image_url":
            image(part["image_url"], where)
        elif kind == "input_audio":
            need(part["input_audio"].get("format") in ("wav", "mp3"), f"Invalid '{where}...input_audio.format'")
        else:
            need(part["file"]["file_data"].startswith("data:application/pdf;base64,"), f"Invalid '{where}...file'")


def image(given: dict, where: str) -> None:
    need(given.keys() <= {"url", "detail"}, f"Unknown parameter in '{where}...image_url'")
    url = given.get("url", "")
    if url.startswith("data:"):
        kind, _, data = url.removeprefix("data:").partition(";base64,")
        need(kind in SIGNATURES, f"Invalid '{where}...image_url': unsupported image type {kind!r}")
        try:
            decoded = base64.b64decode(data, validate=True)
        except binascii.Error:
            raise RefusedRequestError(f"Invalid '{where}...image_url': no base64") from None
        need(decoded.startswith(SIGNATURES[kind]), f"Invalid '{where}...image_url': the bytes are no {kind}")
    else:
        need(url.startswith(("http://", "https://")), f"Invalid '{where}...image_url.url'")
