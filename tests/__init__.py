"""The tests; a package so that `python -m tests.conformance` runs from the repository root."""
