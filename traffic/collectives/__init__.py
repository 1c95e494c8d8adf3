"""Collectives and flows: what a rank does, as a process over verbs-like calls, and what it waited for.

algorithm          what an algorithm is: ranks, parts, steps; algorithms/ has them, one readable file each
kinds, truth       what distinguishes the kinds of collectives, and what each must come to
memory, numbers    where data lies, when a place may be used again; real numbers in it, and the check of every result
program            a rank's iterations of computing and communicating, as a process (process, together)
endpoint           what a program sees of the network: send, receive, sleep
communicator       endpoints over RDMA and NVLink (connection), with admission and readiness
contention_free    the same endpoints over an ideal fabric (ideal_path, port_load)
job                a collective (`collective_job`) or a flow (`flows`) under way, and its result
"""
