"""Changes to text files, as pure functions: texts and patches in, texts out. Nothing here reads or writes a file."""
