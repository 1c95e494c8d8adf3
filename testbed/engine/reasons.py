"""Why a frame is gone: every drop in rocelab carries one of these names."""

OPENFLOW = "openflow"
"""Open vSwitch put the frame out of no port: a rule, a missing route, a meter."""

SHARED_FULL = "shared_full"
"""The switch's packet memory had no room for it."""

FAULT = "fault"
"""A fault of the scenario dropped it: `drop` or `loss`."""

LINK_DOWN = "link_down"
"""The link was down while the frame was on it."""

ICRC = "icrc"
"""The receiving NIC found its invariant CRC wrong: a bit was flipped on the way."""
