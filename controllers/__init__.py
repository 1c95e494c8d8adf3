"""Control: Ryu applications that program the fabric's switches, and what runs them.

The logic is plain values in and out and needs no switch; OpenFlow is at the edge:

    rules        what a fabric's switches must be told: pure functions of the plan
    openflow     the values they return: flow-mods and groups
    sending      the one place that turns these into OpenFlow messages and sends them
    apps         the applications, one file each; the file's name is what a scenario calls it (``l3-ecmp``)
    fabric       what an application is given: the plan
    ryu_compat   ``import ryu`` for classic Ryu and for os-ken alike
    launcher     the controller's process
    supervisor   watches the applications and the switches from inside that process
    channel      the line between that process and the testbed
"""
