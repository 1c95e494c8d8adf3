from hypothesis import given
from hypothesis import strategies as st

from traffic.wire.psn import PSN_MODULUS, psn_add, psn_distance

psns = st.integers(0, 2**24 - 1)
near_psns = st.one_of(psns, st.integers(-3, 3).map(lambda n: n % 2**24), st.integers(-3, 3).map(lambda n: 2**23 + n))


def test_add_wraps():
    assert PSN_MODULUS == 16777216
    assert psn_add(0xFFFFFF, 1) == 0
    assert psn_add(0, -1) == 0xFFFFFF


def test_distance_over_the_wrap():
    assert psn_distance(0, 0xFFFFFF) == 1
    assert psn_distance(0xFFFFFF, 0) == -1
    assert psn_distance(5, 5) == 0


def test_half_the_circle_is_behind():
    assert psn_distance(2**23, 0) == -(2**23)
    assert psn_distance(2**23 - 1, 0) == 2**23 - 1


@given(near_psns, st.integers(-(2**23), 2**23 - 1))
def test_distance_undoes_add(psn, n):
    assert psn_distance(psn_add(psn, n), psn) == n


@given(near_psns, near_psns)
def test_add_undoes_distance(newer, older):
    distance = psn_distance(newer, older)
    assert -(2**23) <= distance < 2**23
    assert psn_add(older, distance) == newer


@given(near_psns, st.integers(-(2**30), 2**30), st.integers(-(2**30), 2**30))
def test_add_is_arithmetic_modulo_2_to_the_24(psn, n, m):
    assert psn_add(psn_add(psn, n), m) == (psn + n + m) % 2**24
