"""Who plays: rule bots, learned agents, and the registry that finds them."""

from agents.registry import AgentError, Spec, describe, make, parse

__all__ = ["AgentError", "Spec", "describe", "make", "parse"]
__part_of__ = "guandan"
