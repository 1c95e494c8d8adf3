"""Traces of training jobs: what each rank computes, sends, and does together with others, read from a file.

model        a trace as plain frozen values, whatever its format: for each rank a graph of nodes
places       how a mistake in a file is reported: the file, the place in it, what was expected and found
limits       how much of a file is believed
draft        a rank's trace while it is read
chakra/      MLCommons Chakra execution traces (protobuf), with their communicator groups
param        PyTorch execution traces as PARAM reads them (JSON)
goal         GOAL schedules (text)
load         finds out which format it is, and puts one file a rank together
matching     who does what with whom: collectives and messages over all ranks, and what does not fit
waiting      who waits for whom in a collective, whatever plays it
order        the graph over all ranks: circles of waiting, and the critical path
reading      load, match and order, in one go
survey       what is inside, in numbers
casting      which algorithm plays each collective, and in which shape

`traffic.trace_replay` runs a trace on a fabric.
"""
