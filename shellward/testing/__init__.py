"""The public conformance suite: one suite, run whole against each backend, also against yours.

Start with ``conformance.checks()`` and ``Place``; ``docs/testing.md`` has an example. pytest is needed by
``pytest_conformance`` only.
"""
