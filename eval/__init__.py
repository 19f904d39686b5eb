"""Who is better: matches, statistics and reports."""

__part_of__ = "guandan"
