"""Executors for real models, one module for each kind: import the one you use, ``interlock.adapters.local``.

An adapter needs its extra only where it is made, not where it is imported.
"""

__all__: list[str] = []
