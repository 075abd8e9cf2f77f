"""The command line: thin, one file (or folder) per command. What a command does lives in the rooms below."""
