"""The messages of the NJUPT platform, which most published Guandan bots speak; docs/ecosystem.md.

Pure functions: cards and actions both ways (`actions`), what the platform sends (`messages`,
`talk`) and what it is answered (`incoming`). Nothing here opens a file or a connection.
"""
