"""The engine: links, queues and switches on an integer picosecond clock (docs/design.md, The engine)."""
