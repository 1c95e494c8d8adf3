"""Link-level flow control: PFC (802.1Qbb) by priority and PAUSE (802.3x) for a whole link, in real frames.

sender       a port whose ingress groups are congested tells the far end to pause, again and again, and to go on
frames       the bytes of both kinds of frame
receiver     a port that is told so: its transmitter's paused priorities, and for how long
watchdog     an egress queue that is paused for too long: SONiC's pfcwd
storm        a NIC that pauses for ever: a fault of a scenario
journal      who paused whom, when, and what for
deadlock     a cycle of waiting buffers
monitor      looks for deadlocks, and notices when nothing but pauses is left
"""
