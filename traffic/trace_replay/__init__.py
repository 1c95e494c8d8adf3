"""Runs a trace (`traffic.traces`) on the fabric: each rank works through its graph, with the algorithms of collectives.

script     what is to be done, worked out beforehand: each collective with its algorithm, its memory and its ranks
rank       one rank at work: which node may start, and when it has ended
side       an algorithm's view of one collective of a trace
memory     real numbers and bytes in the ranks' buffers, and the check of every result
timetable  when each node started and ended; how long a rank only waited for others
job        the whole of it, over RDMA and over the contention-free fabric
"""
