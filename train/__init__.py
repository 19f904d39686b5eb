"""How they learn: one readable file per algorithm over a small common part."""

__part_of__ = "guandan"
