"""Hostile exceptions stay in their tests."""

import contextlib
import signal

import pytest


@pytest.fixture(autouse=True)
def no_handler_is_left():
    """Take away the handler of an event loop whose task has ended in an exception that cannot be shown.

    On its way out asyncio compares the handler by way of its repr, which holds that exception's; that raises, and the
    handler stays, to break whatever runs a loop next.
    """
    yield
    with contextlib.suppress(Exception):
        signal.signal(signal.SIGINT, signal.default_int_handler)
