"""The leaf room: types, errors, limits. Imports the standard library only."""
