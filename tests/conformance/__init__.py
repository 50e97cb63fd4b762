"""The conformance suite: statechart cases as neutral JSON, replayed on the public API and compared field by field.

``python -m tests.conformance PATH...`` runs it. The way of one case: ``machines`` turns the description into an
:mod:`interlock.statechart` machine (``vocabulary`` supplies its expressions, guards and operations), ``replay`` takes
the steps, ``records`` writes down what is seen, ``overrides`` says where we differ from the original on purpose.
``generate`` makes more machines of the same kind.
"""
