"""Collectives and flows: what a rank does, as a process over verbs-like calls, and what it waited for.

process            an `async def` on the model clock; what it waits for is known at every instant
endpoint           what an algorithm sees of the network: send, receive, sleep
ring_all_reduce    the algorithm, next to its textbook description
ring_buffers       its memory, with real numbers in it, and the check of every result
communicator       endpoints over RDMA; contention_free: the same endpoints over an ideal fabric
job                one collective (`all_reduce`) or one flow (`flows`) under way, and its result
"""
