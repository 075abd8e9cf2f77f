"""The tools of this room itself. Discovery imports them like anybody's."""
