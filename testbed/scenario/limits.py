"""Numbers that the checker and the transport must agree on: what a message and a collective can be at all."""

ELEMENT_BYTES = 4
"""Size of a float32, the element of every collective."""

MAXIMUM_MESSAGE_BYTES = 2**31
"""The longest message of a reliable connection (IBTA volume 1: 0 to 2^31 bytes)."""

MAXIMUM_PIECES = 2**20
"""Messages that a step of a collective, or a flow, can have: all may be posted at once."""

FLOW_MESSAGE_BYTES = 2**30
"""A longer flow is several messages of this size, as an application would split it."""

MAXIMUM_FLOWS = 20_000
"""Flows of a work that begin at random, or again and again: each has its own queue pairs."""
