"""The live clock: the same engine and models, tied to wall time, so that real applications use the fabric.

clock      runs the event loop's events when their wall time has come, and takes in what the world sends meanwhile
lateness   how late the events ran
verdict    what that means for the results: ok, degraded or invalid
host_nic   a NIC with a kernel behind it: real frames beside the queue pairs' ones
arp        the router's answers to the hosts' ARP requests
"""
