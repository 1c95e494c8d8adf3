"""MLCommons Chakra execution traces.

et_def.proto    the messages, from which et_def_pb2 is made; framing: how they follow each other in a file
attributes      a node's attributes by name; nodes: what a node does
reader          one rank's file
"""
