"""The live latency table: hand-computed figures, bounded memory, foreign messages."""

import pytest

from interlock.messages import Basis, Stamp
from interlock.operators.latency_stream import REMEMBERED, LatencyStream

MS = 1_000_000


def state(seq):
    return Stamp(source="sim", seq=seq, observed_ns=seq * 10 * MS, sent_ns=seq * 10 * MS)


def command(seq):
    at_ns = seq * 10 * MS
    basis = Basis(
        source="sim", output="state", seq=seq, observed_ns=at_ns, received_ns=at_ns + 3 * MS
    )
    return Stamp(
        source="policy", seq=seq, observed_ns=at_ns, sent_ns=at_ns + 8 * MS, basis=(basis,)
    )


def play(stream, count):
    tables = []
    for i in range(count):
        now_ns = i * 10 * MS + 9 * MS
        tables.append(stream.take("sim_state", state(i).to_metadata(), now_ns))
        tables.append(stream.take("policy_command", command(i).to_metadata(), now_ns))
    return [t for t in tables if t]


def test_the_table_shows_each_edge_as_its_consumer_saw_it():
    [table] = play(LatencyStream(0.5), 60)
    [line] = [x for x in table.splitlines() if x.startswith("sim/state -> policy")]
    assert line.split()[-3:] == ["3.00", "3.00", "8.0"]
    [line] = [x for x in table.splitlines() if x.startswith("policy/command -> here")]
    assert line.split()[-3:] == ["1.00", "1.00", "-"]


def test_a_table_comes_every_few_seconds_and_starts_anew():
    first, second = play(LatencyStream(0.5), 105)
    assert first.count("\n") == second.count("\n")


def test_memory_is_bounded():
    stream = LatencyStream(1e6)
    play(stream, REMEMBERED + 100)
    assert len(stream._sent["sim/state"]) == REMEMBERED


def test_a_message_without_a_stamp_is_counted_and_harmless():
    stream = LatencyStream(1.0)
    assert stream.take("tick", {}, 0) is None
    assert stream.unstamped == 1


@pytest.mark.parametrize("every_s", [0.0, -1.0, float("nan")])
def test_a_time_that_is_none_is_refused(every_s):
    with pytest.raises(ValueError, match="expected a time above 0 s"):
        LatencyStream(every_s)
