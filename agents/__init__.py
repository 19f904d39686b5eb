"""Who plays: rule bots, learned agents, and the registry that finds them."""

from agents.registry import AgentError, Spec, describe, make, parse
from agents.seating import single_seat

__all__ = ["AgentError", "Spec", "describe", "make", "parse", "single_seat"]
__part_of__ = "guandan"
