"""Pure text to structure: what a shell would run. No opinion and no I/O."""
