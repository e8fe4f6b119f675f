"""What was flushed stays readable: torn files, killed writers, full disks, slow disks."""

import json
import resource
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from interlock.messages import Image
from interlock.operators.trace import Trace, TraceError, digest

WRITER = """
    import sys
    from pathlib import Path
    sys.path[:0] = [{tests!r}]
    from conftest import Plant, state
    plant = Plant(Path({folder!r}))
    for i in range(100000):
        plant.send("sim/state", state(), at_ms=i)
        if i % 10 == 9:
            plant.writer.flush()
            print(i + 1, flush=True)
"""


def two_batches(plant, make):
    for i in range(6):
        plant.send("sim/state", make.state(), at_ms=i)
        if i == 2:
            plant.writer.flush()
            [file] = (plant.folder / "trace").glob("*.arrows")
            first = file.stat().st_size
    plant.trace()
    return file, first


def test_a_file_torn_at_any_byte_gives_its_whole_batches(plant, make):
    file, first = two_batches(plant, make)
    whole = file.read_bytes()
    for size in range(first, len(whole)):  # about 5000 sizes
        file.write_bytes(whole[:size])
        trace = Trace(plant.folder)
        assert [len(s) for s in trace.streams] == [3], size
        assert trace.torn_bytes == size - first


def test_a_file_torn_in_its_first_batch_is_an_empty_trace(plant, make):
    file, first = two_batches(plant, make)
    whole = file.read_bytes()
    for size in range(0, first, 7):
        file.write_bytes(whole[:size])
        assert sum(len(s) for s in Trace(plant.folder).streams) == 0, size


def test_rubbish_after_the_last_batch_is_ignored(plant, make):
    file, _ = two_batches(plant, make)
    rng = np.random.default_rng(0)
    whole = file.read_bytes()
    for _ in range(200):
        file.write_bytes(whole + rng.bytes(int(rng.integers(1, 300))))
        assert [len(s) for s in Trace(plant.folder).streams] == [6]


def test_a_killed_writer_leaves_every_flushed_message(tmp_path):
    code = WRITER.format(tests=str(Path(__file__).parents[2]), folder=str(tmp_path / "run"))
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    flushed = [int(process.stdout.readline()) for _ in range(20)][-1]
    process.send_signal(signal.SIGKILL)
    process.wait()
    [stream] = Trace(tmp_path / "run").streams
    assert len(stream) >= flushed
    assert stream.column("seq").tolist() == list(range(len(stream)))


@pytest.fixture
def small_disk():
    """Files of this process can't grow beyond 64 KiB, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_is_one_sentence_and_what_was_written_stays(plant, make, small_disk):
    for i in range(300):
        plant.send("sim/state", make.state(), at_ms=i)
        if i % 10 == 9:
            plant.writer.flush()
    trace = plant.trace()
    assert "can't be written" in plant.writer.error
    assert "Free some space" in plant.writer.error
    [stream] = trace.streams
    assert 0 < len(stream) < 300
    assert len(stream) + plant.writer.left_out == 300
    assert trace.torn_bytes == 0


def test_writing_goes_on_when_the_disk_has_room_again(plant, make, small_disk):
    plant.send("camera/image", noise(400), at_ms=1)
    plant.writer.flush()
    assert plant.writer.left_out == 1
    plant.send("camera/image", make.picture(), at_ms=2)
    assert [s.column("seq").tolist() for s in plant.trace().streams] == [[1]]


def noise(size):
    rng = np.random.default_rng(0)
    return Image(pixels=rng.integers(0, 255, (size, size, 3), np.uint8))


def test_a_folder_that_cannot_be_made_is_an_error_with_the_way_out(tmp_path, planted):
    (tmp_path / "run1").write_text("in the way")
    with pytest.raises(TraceError, match="choose another folder"):
        planted()


def test_a_full_buffer_leaves_messages_out_and_counts_them(planted, make):
    run = planted(buffer_mb=0.05)
    for i in range(200):
        run.send("sim/state", make.state(), at_ms=i)
    trace = run.trace()
    assert 0 < len(trace.streams[0]) < 200
    assert run.writer.left_out == 200 - len(trace.streams[0])


def test_pictures_over_the_budget_are_rows_without_pixels(planted, make):
    run = planted(image_budget_mb=0.0)
    run.send("camera/image", make.picture(), at_ms=1)
    [read] = run.trace().messages()
    assert read.message.pixels.shape == (0, 0, 3)
    assert run.writer.pictures_left_out == 1


def test_one_in_n_pictures_keeps_its_pixels(planted, make):
    run = planted(images="every", every_n=3)
    for i in range(7):
        run.send("camera/image", make.picture(i), at_ms=i)
    kept = [r.message.pixels.size > 0 for r in run.trace().messages()]
    assert kept == [True, False, False, True, False, False, True]
    assert run.writer.pictures_left_out == 4


def test_a_thread_writes_the_same_as_no_thread(planted, make):
    runs = [planted(flush_rows=3), planted(flush_rows=3, background=True)]
    for run in runs:
        for i in range(20):
            run.send("sim/state", make.state(), at_ms=i)
        run.trace()
    assert digest(runs[0].folder) == digest(runs[1].folder)


def test_meta_says_what_was_run(plant):
    plant.writer.close()
    meta = json.loads((plant.folder / "trace" / "meta.json").read_text())
    assert (meta["run_id"], meta["clock"], meta["seed"]) == ("planted", "monotonic", 0)
