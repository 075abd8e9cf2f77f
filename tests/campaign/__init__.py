"""A campaign of faults: each round is one fault in the middle of a few dozen calls, seeded, and can be replayed.

From ``tests/``: ``python -m campaign --seed 1 --rounds 100 --places local,docker,ssh``; docs/testing.md has more.
"""
