"""rocelab: a packet-level emulation testbed for the Ethernet fabrics that AI training runs on.

The map. Each stage hands a typed, frozen object to the next, and imports point one way along the arrow
(``tests/test_layers.py`` checks it):

    stage         package                  hands on
    scenario      testbed.scenario         Scenario       what is asked for, every value checked
    fabric        testbed.fabric           FabricPlan     hosts, NICs, switches, ports, links, addresses
    engine        testbed.engine           EventLoop ...  links, queues and switches on the model clock
    control       controllers              flow rules     a Ryu application programs Open vSwitch, a policy acts
                  testbed.control          actions        ... and when: at the model's time
    traffic       traffic                  Collective ... RoCEv2 frames, NICs, queue pairs, collectives
    measurement   testbed.measurement      Measurements   counters, drops, stalls, invariants
    report        testbed.report           summary.json   tables, Parquet, pcapng

``testbed.live`` ties the model clock to wall time, and ``testbed.shell`` is its command line; ``testbed.labs`` checks
labs, ``testbed.bench`` makes the scenarios of a benchmark. ``testbed.outside`` holds the files that touch an outside
world, one each: the sandbox, TAP devices, Open vSwitch, Mininet, the controller's process. ``testbed.run`` puts the
stages together; ``testbed.cli`` is what a user types.
"""
