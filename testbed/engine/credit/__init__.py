"""Credits: the link-level flow control of InfiniBand. A sender never sends what the receiver has no room for.

Each end of a link keeps, for each virtual lane (a priority that is lossless), counts of blocks of 64 bytes:

    FCTBS   sender: total blocks sent                 ABR    receiver: blocks received, as absolute a number
    FCCL    sender: the limit it was told last        limit  receiver: ABR + free blocks of the lane's buffer

A frame may go while FCTBS + its blocks <= FCCL. Nothing is taken back and nothing runs out, so there is no headroom,
and an update that is lost costs only time: the next says the same, as the counts are absolute.

arithmetic   blocks, and counters that wrap
frames       an update's bytes
sending      one port's counts of what it sends: what must wait, and for how long it did
lane         one receive buffer: blocks received and held
end          one end of a link: both, and when updates go out
group        a lane as the ingress group of a switch
scheduler    a switch port's scheduler that skips a lane whose next frame has no credit
switch       a switch whose lossless priorities are lanes
nic          a NIC behind its end of the link
deadlock     a cycle of lanes that wait for each other's room
control      all ends of a fabric

References: InfiniBand Architecture Specification, volume 1, link layer: flow control.
Known limits: the width of the counters and the largest advertisement (2048 blocks) are from secondary sources. Links
begin with the credits of an empty buffer; their initialisation is not modelled.
"""
