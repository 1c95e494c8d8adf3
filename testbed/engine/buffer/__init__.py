"""A switch's packet buffer with traffic classes, as shared-memory chips have it: one small file a concept.

    memory       the shared memory, and what is in use of it
    ingress      who may enter: reserved -> shared up to the dynamic threshold -> headroom, per (port, priority)
    queue        the egress queue of a (port, priority), with its dynamic threshold
    marking      ECN on a queue: RED's ramp, and the CE bits in the IP header
    scheduler    which queue of a port sends next: strict priorities, then deficit round robin

A frame is counted when its last bit has arrived, so what is in the forwarding pipeline is in the memory, and it is
freed when it starts to leave. Every drop falls at one of two places: at arrival by the ingress group (`shared_full`,
`headroom_full`), or one switch latency later at the egress queue (`egress_threshold`, `wred`, `pfc_watchdog`).
"""
