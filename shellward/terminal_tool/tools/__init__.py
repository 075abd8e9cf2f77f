"""The tools as models see them: each module registers one, with its schema. What they do is in the room above."""
