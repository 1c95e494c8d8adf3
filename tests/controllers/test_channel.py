"""The line between testbed and controller: every message survives it, whole or in pieces, and its end is noticed."""

import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.channel import (
    AskStatus,
    Channel,
    ChannelClosed,
    Counts,
    Failure,
    Hello,
    Message,
    Ready,
    Status,
    Stop,
    SwitchReady,
    SwitchUp,
    decode,
    encode,
)

MESSAGES: st.SearchStrategy[Message] = st.one_of(
    *map(st.from_type, (Hello, SwitchUp, SwitchReady, Ready, Failure, Status, AskStatus, Stop))
)


@pytest.fixture
def line() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Channel(ours), theirs


@given(MESSAGES)
def test_round_trip(message: Message) -> None:
    line = encode(message)
    assert line.count(b"\n") == 1
    assert decode(line) == message


def test_wire_format() -> None:
    assert encode(SwitchUp("leaf0", 1)) == b'{"message": "SwitchUp", "name": "leaf0", "dpid": 1}\n'
    assert decode(b'{"message": "Ready", "counts": {"flow_mods": 3}}') == Ready(Counts(flow_mods=3))


@pytest.mark.parametrize("text", [b"hello", b"[]", b'{"message": "Bye"}', b'{"message": "Stop", "now": true}', b"{}"])
def test_not_a_message(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"expected a message such as b'\{\"message\": \"Stop\"\}"):
        decode(text)


def test_pieces_and_several_at_once(line: tuple[Channel, socket.socket]) -> None:
    channel, peer = line
    data = encode(Failure("two\nlines")) + encode(Stop())
    peer.sendall(data[:10])
    assert channel.receive(0) is None
    peer.sendall(data[10:])
    assert channel.receive(0) == Failure("two\nlines")
    assert channel.receive(0) == Stop()
    assert channel.receive(0) is None


def test_end_of_the_line(line: tuple[Channel, socket.socket]) -> None:
    channel, peer = line
    peer.sendall(encode(Stop()))
    peer.close()
    assert channel.receive() == Stop()
    with pytest.raises(ChannelClosed):
        channel.receive()
    with pytest.raises(ChannelClosed):
        channel.send(AskStatus())
