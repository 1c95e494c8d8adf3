"""The one error of the wire format."""


class MalformedPacket(ValueError):  # noqa: N818 - the field's word for such a packet
    """Bytes sent to the RoCEv2 port that are not a RoCEv2 packet; the message says what was expected and found."""
