"""What is kept of what happened: the audit log, and the masking of secrets in it. Knows no settings file."""
