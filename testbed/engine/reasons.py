"""Why a frame is gone: every drop in rocelab carries one of these names."""

OPENFLOW = "openflow"
"""Open vSwitch put the frame out of no port: a rule, a missing route, a meter."""

SHARED_FULL = "shared_full"
"""The switch's packet memory, or with traffic classes its shared part, had no room for it."""

CONTROLLER = "controller"
"""The switch sent it up to the controller, which did not send it on at once."""

EGRESS_THRESHOLD = "egress_threshold"
"""Its egress queue was at its dynamic threshold: more of the shared memory than a lossy class may take."""

INGRESS_THRESHOLD = "ingress_threshold"
"""Its ingress group was at its dynamic threshold, and a policy has made it lossy: it drops instead of pausing."""

HEADROOM_FULL = "headroom_full"
"""It belongs to a lossless class whose headroom was full: the headroom is too small for the link."""

VL_BUFFER_FULL = "vl_buffer_full"
"""The buffer of its virtual lane was full, although its sender had credit for it: credits do not add up."""

WRED = "wred"
"""Its queue was congested and it could not be marked (not ECN-capable): random early drop."""

PFC_WATCHDOG = "pfc_watchdog"
"""The PFC watchdog had found its queue in a pause storm."""

FAULT = "fault"
"""A fault of the scenario dropped it: `drop` or `loss`."""

LINK_DOWN = "link_down"
"""The link was down while the frame was on it."""

ICRC = "icrc"
"""The receiving NIC found its invariant CRC wrong: a bit was flipped on the way."""
