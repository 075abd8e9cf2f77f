"""Following programs given to interpreters: one tree for all languages, one machine that walks it."""
