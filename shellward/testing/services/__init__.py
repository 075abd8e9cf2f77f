"""Loopback services: stand-ins for clouds that speak their protocols and really run what they are asked to run.

Each is started by a command (``python -m shellward.testing.services.daytona``) or, in tests, by ``launch.Launched``.
They need Linux and root, since each sandbox has a file system, a process table and a network of its own (``boxes``).
"""
