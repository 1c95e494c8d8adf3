import pytest

from testbed.engine.loop import EventLoop
from testbed.scenario.model import TransportOptions
from tests.traffic.nic.pair import Pair, planned_nic
from traffic.nic import Nic
from traffic.nic.states import TRANSITIONS, QpEvent, QpState, StateError, next_state
from traffic.nic.verbs import ReceiveRequest, SendRequest, WorkOpcode


def test_life_of_a_connection() -> None:
    state = QpState.RESET
    for event in (QpEvent.TO_INIT, QpEvent.TO_RTR, QpEvent.TO_RTS, QpEvent.ACK, QpEvent.REQUESTER_FAILURE):
        state = next_state(17, state, event)
    assert state is QpState.ERROR
    assert next_state(17, state, QpEvent.TO_RESET) is QpState.RESET


def test_one_error_shape() -> None:
    with pytest.raises(StateError, match=r"^QP 17 cannot handle Ack in state RTR$"):
        next_state(17, QpState.RTR, QpEvent.ACK)


@pytest.mark.parametrize("state", QpState)
def test_every_state_can_be_given_up_and_reset_except_that_reset_is_idle(state: QpState) -> None:
    row = TRANSITIONS[state]
    assert row[QpEvent.TO_ERROR] is QpState.ERROR
    if state is not QpState.RESET:
        assert row[QpEvent.TO_RESET] is QpState.RESET
    assert (QpEvent.REQUEST in row) == (state in (QpState.RTR, QpState.RTS))
    assert (QpEvent.ACK in row) == (state is QpState.RTS)


def _new_queue_pair() -> Nic:
    nic = Nic(planned_nic(1, gateway=2), EventLoop())
    nic.create_queue_pair(TransportOptions())
    return nic


def test_post_send_before_rts_is_refused() -> None:
    (qp,) = _new_queue_pair().queue_pairs.values()
    qp.handle(QpEvent.TO_INIT)
    with pytest.raises(StateError, match=r"^QP 17 cannot handle PostSend in state INIT$"):
        qp.post_send(SendRequest(1, WorkOpcode.SEND))


def test_post_receive_waits_for_init() -> None:
    (qp,) = _new_queue_pair().queue_pairs.values()
    with pytest.raises(StateError, match=r"^QP 17 cannot handle PostReceive in state RESET$"):
        qp.post_receive(ReceiveRequest(1))
    qp.handle(QpEvent.TO_INIT)
    qp.post_receive(ReceiveRequest(1))


def test_states_cannot_be_skipped() -> None:
    (qp,) = _new_queue_pair().queue_pairs.values()
    with pytest.raises(StateError, match=r"^QP 17 cannot handle ModifyToRts in state RESET$"):
        qp.handle(QpEvent.TO_RTS)


def test_reset_forgets_the_work_without_completions() -> None:
    pair = Pair()
    pair.write(8192)
    pair.qp_a.reset()
    pair.loop.run()
    assert pair.qp_a.state is QpState.RESET
    assert not pair.qp_a.completions
    assert pair.qp_a.requester.end_sequence == 0
