"""What a terminal is made of, without any process: screen, keys, recordings. Pure: bytes in, structure out.

Nothing here opens anything in a sandbox; ``environments.pty`` does.
"""
