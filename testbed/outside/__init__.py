"""The outside worlds, one file each; nothing else in testbed/ touches them.

sandbox        Linux namespaces: a run's own network, mounts and processes
machine        what is installed, for ``rocelab doctor`` (with `check`, `libraries`)
run_directory  where a run's results go
tap            TAP devices
openvswitch    a private Open vSwitch: its two daemons and its command-line tools
ovs_forwarder  frames through its ports
network        Mininet
controller     the controller's process
"""
