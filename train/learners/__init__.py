"""Adapters to the libraries people train with, one module each; docs/learners.md.

None of the libraries is a dependency of ours; each module imports its own.
"""
