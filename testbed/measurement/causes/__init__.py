"""Why ranks stall: every microsecond beyond the contention-free time, attributed to causes that add up to it exactly.

    while it runs    collect    at each message's arrival, a walk back to its post     hops, NICs' accounts -> Transit
                     walk       what the walk does at a switch and at a NIC
    at the end       naming     who was in front, who paused, what was lost, who marked              Found -> Cause
                     spread     along the messages from rank to rank, against the contention-free run
                     stalls     what each wait of a rank saw of its stall
    lateness   the chains of parts that this is done with
                     explain    brings these together                                               -> Explanation
                     model      the causes' names, and the explanation as frozen values

Why it is exact: nothing is estimated. An event of the run and its counterpart in the contention-free run differ by a
whole number of picoseconds, and from each event to the next that depends on it parts are added or taken off by just
what that difference changes. Which part is taken off when time is made up for is a rule (`lateness`); that the sum is
right is none, and is asserted in every run (the invariant `causes`).
"""
