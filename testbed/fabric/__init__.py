"""The fabric stage: from what a scenario asks for to a plan of hosts, switches, ports, links and addresses.

    plan         the frozen plan and its look-ups; everything later reads it
    build        `build_plan`: the options of a scenario -> a plan
    builder      what every topology is built with: it allots ports, names, addresses and MACs
    topologies   one file a shape; each registers itself
    paths        shortest paths and equal-cost next hops over a plan
    picture      a plan as a picture of text

All of it is pure: nothing here touches Mininet, Open vSwitch or a clock.
"""
