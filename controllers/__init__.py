"""Control: Ryu applications that program the fabric's switches, and what runs them.

    rules.py        what a fabric's switches must be told, as plain values: pure functions of the plan
    openflow.py     those values: flow-mods and groups
    sending.py      the one place that turns them into OpenFlow messages and sends them
    apps/           the applications, one file each; the file's name is what a scenario calls it (``l3-ecmp``)
    fabric.py       what an application is given: the plan
    ryu_compat.py   ``import ryu`` for classic Ryu and for os-ken alike
    launcher.py     the controller's process
    supervisor.py   watches the applications and the switches from inside that process
    channel.py      the line between that process and the testbed
"""
