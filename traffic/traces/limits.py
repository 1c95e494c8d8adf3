"""How much of a trace is believed: a hostile or broken file is refused before it has used up the memory."""

MAXIMUM_MESSAGE_BYTES = 16 * 2**20
"""One protobuf message of a Chakra file: a node with all its attributes is a few kB."""

MAXIMUM_NODES = 2_000_000
"""Nodes of all ranks together: about 1 GB of memory."""

MAXIMUM_DEPENDENCIES = 100_000
"""What one node can depend on."""

MAXIMUM_LINE = 64 * 1024
"""Characters in a line of text."""

MAXIMUM_JSON_BYTES = 256 * 2**20
"""A JSON file, unpacked: it is read as a whole, and takes some ten times as much memory."""

MAXIMUM_RANKS = 4096

MAXIMUM_TIME_PS = 10**16
"""Of one node: nearly three hours."""

MAXIMUM_SIZE_BYTES = 2**40
"""Of one message or collective."""

NAME_CHARACTERS = 120
"""So much of a node's name is kept."""
