"""Who plays: rule bots, learned agents, and the registry that finds them."""

__part_of__ = "guandan"
