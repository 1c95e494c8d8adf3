"""The log of hops: what a record knows, where it came from, and what is left when old ones are forgotten."""

from testbed.engine.hops import EmissionLog, HopLog, WireLog


def log_of_two_wires() -> tuple[HopLog, WireLog, WireLog]:
    log = HopLog()
    return log, log.add_wire("h0-eth0"), log.add_wire("leaf0-eth1")


def emit(sender: EmissionLog, now: int, sequence: int, not_before: int = 0) -> int:
    return sender.add(now, sequence, not_before, 4_190)


def test_a_record_knows_its_time_and_what_it_came_from() -> None:
    log, nic, port = log_of_two_wires()
    first = nic.add(5_000, 84)
    there = port.add(20_000, first)
    assert (log.start_ps(first), log.start_ps(there)) == (5_000, 20_000)
    assert (log.came_from(there), log.came_from(first)) == (first, 84)


def test_the_source_is_an_emission_or_a_size() -> None:
    log, nic, port = log_of_two_wires()
    emission = emit(log.add_sender("h0-eth0"), 0, 7)
    data, acknowledgement = port.add(20, nic.add(0, emission)), port.add(30, nic.add(10, 84))
    assert (log.source(data), log.size_bytes(log.source(data))) == (emission, 4_190)
    assert (log.source(acknowledgement), log.size_bytes(log.source(acknowledgement))) == (84, 84)


def test_the_first_hop_of_an_emission_is_found() -> None:
    log, nic, _ = log_of_two_wires()
    a, b = log.add_sender("h0-eth0"), log.add_sender("h0-eth0")
    records = [nic.add(time, emit(sender, time, 0)) for time, sender in ((0, a), (10, b), (20, a))]
    assert [log.record(log.came_from(record)) for record in records] == records


def test_an_emission_may_wait_before_it_is_sent() -> None:
    log, nic, _ = log_of_two_wires()
    sender = log.add_sender("h0-eth0")
    held, second = emit(sender, 0, 0), emit(sender, 5, 1)
    assert log.record(held) == 0
    before, after = nic.add(5, second), nic.add(30, held)
    assert (log.record(second), log.record(held)) == (before, after)


def test_what_is_forgotten_is_not_in_it_and_numbers_stay() -> None:
    log, nic, _ = log_of_two_wires()
    sender = log.add_sender("h0-eth0")
    emissions = [emit(sender, time, number) for number, time in enumerate((0, 10, 20))]
    records = [nic.add(time, emission) for time, emission in zip((0, 10, 20), emissions, strict=True)]
    log.forget_before(10)
    assert len(log) == 2
    assert [record in log for record in records] == [False, True, True]
    assert [emission in log for emission in emissions] == [False, True, True]
    assert log.start_ps(records[2]) == 20
    assert log.record(emissions[1]) == records[1]
    assert nic.add(30, 84) not in records


def test_a_way_that_is_forgotten_leads_nowhere() -> None:
    log, nic, port = log_of_two_wires()
    there = port.add(20, nic.add(0, emit(log.add_sender("h0-eth0"), 0, 0)))
    log.forget_before(10)
    assert there in log
    assert log.source(there) == 0


def test_no_number_is_nothing() -> None:
    log, _, _ = log_of_two_wires()
    assert 0 not in log
    assert 84 not in log
