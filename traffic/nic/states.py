"""The states of a reliable-connection queue pair (QP) as a table: from (state, event) to state.

    RESET --> INIT --> RTR --> RTS          an application connects a QP: modify calls, in this order
      any --------------------> ERROR       retries ran out, the peer refused a request, or the application says so
      any --------------------> RESET       the QP can be used again

Everything about which event a QP may see when, lives here and nowhere else. An event that is not in the state's row is
refused: a call by an exception (`StateError`), a packet by dropping it, which is what a NIC does with packets for a QP
that is not ready for them. Not in the table: SQD (send queue drain), which nothing here asks for, and SQE, which exists
only for unreliable transports (a reliable connection goes to ERROR on any send queue error).

References: InfiniBand Architecture Specification, volume 1, section 10.3.1 (the clauses beside the rows);
ibv_modify_qp(3) for the names.
"""

from enum import Enum


class QpState(Enum):
    """Where a QP is in its life."""

    RESET = "RESET"
    INIT = "INIT"
    RTR = "RTR"
    RTS = "RTS"
    ERROR = "ERROR"


class QpEvent(Enum):
    """What can happen to a QP. The first five are an application's modify calls."""

    TO_RESET = "ModifyToReset"
    TO_INIT = "ModifyToInit"
    TO_RTR = "ModifyToRtr"
    TO_RTS = "ModifyToRts"
    TO_ERROR = "ModifyToError"
    POST_SEND = "PostSend"
    POST_RECEIVE = "PostReceive"
    REQUEST = "Request"
    ACK = "Ack"
    LOCAL_ACK_TIMEOUT = "LocalAckTimeout"
    REQUESTER_FAILURE = "RequesterFailure"
    RESPONDER_FAILURE = "ResponderFailure"


class StateError(Exception):
    """A call that the state of the QP does not allow: ``QP 17 cannot handle Ack in state RTR``."""

    def __init__(self, number: int, event: QpEvent, state: QpState) -> None:
        super().__init__(f"QP {number} cannot handle {event.value} in state {state.value}")


_S, _E = QpState, QpEvent

TRANSITIONS: dict[QpState, dict[QpEvent, QpState]] = {
    _S.RESET: {  # 10.3.1.1: no work can be posted; packets are silently dropped
        _E.TO_INIT: _S.INIT,
        _E.TO_RESET: _S.RESET,
        _E.TO_ERROR: _S.ERROR,
    },
    _S.INIT: {  # 10.3.1.2: receives may be posted and wait; packets are silently dropped
        _E.TO_RTR: _S.RTR,
        _E.POST_RECEIVE: _S.INIT,
        _E.TO_RESET: _S.RESET,
        _E.TO_ERROR: _S.ERROR,
    },
    _S.RTR: {  # 10.3.1.3: the responder works; the requester does not yet
        _E.TO_RTS: _S.RTS,
        _E.POST_RECEIVE: _S.RTR,
        _E.REQUEST: _S.RTR,
        _E.RESPONDER_FAILURE: _S.ERROR,
        _E.TO_RESET: _S.RESET,
        _E.TO_ERROR: _S.ERROR,
    },
    _S.RTS: {  # 10.3.1.4: both work
        _E.POST_SEND: _S.RTS,
        _E.POST_RECEIVE: _S.RTS,
        _E.REQUEST: _S.RTS,
        _E.ACK: _S.RTS,
        _E.LOCAL_ACK_TIMEOUT: _S.RTS,
        _E.REQUESTER_FAILURE: _S.ERROR,  # 9.9.2: retries exhausted, or a NAK that says why not
        _E.RESPONDER_FAILURE: _S.ERROR,  # 9.9.3: a request that cannot be carried out
        _E.TO_RESET: _S.RESET,
        _E.TO_ERROR: _S.ERROR,
    },
    _S.ERROR: {  # 10.3.1.7: work may be posted and is flushed at once; packets are silently dropped
        _E.POST_SEND: _S.ERROR,
        _E.POST_RECEIVE: _S.ERROR,
        _E.TO_ERROR: _S.ERROR,
        _E.TO_RESET: _S.RESET,
    },
}


def next_state(number: int, state: QpState, event: QpEvent) -> QpState:
    """Return where `event` takes QP `number` from `state`. Raises StateError when its row has no such event."""
    try:
        return TRANSITIONS[state][event]
    except KeyError:
        raise StateError(number, event, state) from None
