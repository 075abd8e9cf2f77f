"""Running commands for those who are not trusted blindly. ``guard`` is the only door to the environments."""
