"""The engine's side of the control loop: when the controller sees and acts, on the model clock.

loop        asks the policy once every control interval, and has its actions take effect one latency later
exchange    lets applications and policy speak to the switches at a model time, and brings punted frames back
observer    what a policy sees: counters of an interval, made from the engine's
actions     what a policy does to the model: thresholds, classes, meters
meters      token buckets in front of the switches
bridged     hosts on one Ethernet: a NIC leaves alone what is not addressed to it
"""
