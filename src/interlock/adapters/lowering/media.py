"""Images and files as data URLs: what their bytes are counts, not what somebody calls them."""

from __future__ import annotations

import base64

from interlock.errors import UnsupportedRequestError

__all__ = ["data_url", "kind_of"]

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
)


def kind_of(data: bytes, declared: str | None) -> str:
    """Return the media type that the bytes show, else the declared one.

    A provider refuses what is declared as something else than it is, and would refuse it again with every later turn.
    Raises :class:`UnsupportedRequestError` for empty data and for a type that can neither be seen nor is declared.
    """
    if not data:
        raise UnsupportedRequestError("it is empty; leave it out, or read its bytes again")
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            return kind
    if data[:4] == b"RIFF" and data[8:12] in (b"WEBP", b"WAVE"):
        return "image/webp" if data[8:12] == b"WEBP" else "audio/wav"
    if declared is None or "/*" in declared:
        raise UnsupportedRequestError("its bytes do not show what it is; give it a media_type")
    return declared


def data_url(data: bytes, kind: str) -> str:
    """Return bytes as a URL that holds them."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
