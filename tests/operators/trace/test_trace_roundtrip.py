"""What is written is what is read, with nothing but Arrow's own tools as well."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from interlock.messages import Command, Event, ObjectPoses, Verdict
from interlock.messages.codec import TABLE
from interlock.operators.trace import Trace, TraceError, digest, newest_run


def filled(cls, rng):
    """Return a message of a type with every field set to something."""
    values = {}
    for field in TABLE[cls]:
        if field.scalar is not None:
            values[field.name] = {bool: True, int: 7, float: 0.5, str: "ü"}[field.scalar]
        elif field.column is None:
            values[field.name] = ("one", "")
        else:
            shape = (3,) if field.column.ndim == 1 else (2, 4)
            values[field.name] = (rng.random(shape) * 100).astype(field.column.dtype)
    return cls(**values)


def same(left, right):
    for field in dataclasses.fields(left):
        a, b = getattr(left, field.name), getattr(right, field.name)
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b, strict=True)
        else:
            assert a == b


@pytest.mark.parametrize("cls", TABLE, ids=lambda c: c.__name__)
def test_every_message_type_is_read_as_it_was_written(plant, cls):
    message = filled(cls, np.random.default_rng(3))
    sent = [plant.send("node/out", message, at_ms=i) for i in range(3)]
    read = list(plant.trace().messages())
    assert [r.stamp for r in read] == [s.stamp for s in sent]
    for received in read:
        same(received.message, message)


def test_matrices_of_any_height_and_width_share_one_file(plant):
    shapes = [(0, 0), (1, 7), (5, 7), (2, 3)]
    for i, shape in enumerate(shapes):
        targets = np.arange(float(np.prod(shape))).reshape(shape)
        plant.send("p/command", Command(task="t", space="joint", targets=targets), at_ms=i)
    read = [r.message.targets for r in plant.trace().messages()]
    assert [t.shape for t in read] == shapes
    assert read[3].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_picture_keeps_its_pixels_and_its_pose(plant, make):
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 255, (48, 64, 3), np.uint8)
    image = dataclasses.replace(make.picture(), pixels=pixels, world_from_camera=np.arange(7.0))
    plant.send("camera/image", image, at_ms=1)
    [read] = plant.trace().messages()
    same(read.message, image)


def test_the_basis_leads_back_to_the_message(plant, make):
    seen = plant.send("sim/state", make.state(), at_ms=1)
    plant.send("p/command", Command(task="t", space="hold"), at_ms=5, basis=[seen])
    trace = plant.trace()
    [command] = trace.of(Command)
    assert trace.find(command.stamp.basis[0]).stamp == seen.stamp


def test_messages_come_in_order_of_time_and_can_be_chosen(plant, make):
    plant.send("sim/state", make.state(), at_ms=5)
    plant.send("p/command", Command(task="a", space="hold"), at_ms=2)
    plant.send("p/command", Command(task="b", space="hold"), at_ms=9)
    trace = plant.trace()
    assert [r.stamp.sent_ns // 10**6 for r in trace.messages()] == [2, 5, 9]
    assert [r.message.task for r in trace.messages(types=[Command], task="b")] == ["b"]
    assert [r.output for r in trace.messages(outputs=["sim/state"])] == ["state"]


def test_arrow_alone_opens_a_file(plant, make):
    for i in range(4):
        plant.send("sim/state", make.state(gripper_width_m=i / 100), at_ms=i)
    plant.trace()
    file = plant.folder / "trace" / "sim--state.RobotState.0000.arrows"
    table = pa.ipc.open_stream(file.read_bytes()).read_all()
    assert table.column("seq").to_pylist() == [0, 1, 2, 3]
    widths = table.column("message").combine_chunks().field("gripper_width_m")
    assert widths.to_pylist() == [0.0, 0.01, 0.02, 0.03]


def test_a_second_writer_in_the_same_folder_adds_a_part(planted, make):
    first = planted()
    first.send("sim/state", make.state(), at_ms=1)
    first.trace()
    second = type(first)(first.folder)
    second.lose("sim/state")
    second.send("sim/state", make.state(), at_ms=2)
    [stream] = second.trace().streams
    assert stream.column("seq").tolist() == [0, 1]


def test_the_digest_is_of_the_content_and_not_of_the_batches(planted, make):
    runs = [planted(), planted(flush_rows=2), planted()]
    for run, width in zip(runs, (0.08, 0.08, 0.0800001), strict=True):
        for i in range(5):
            run.send("sim/state", make.state(gripper_width_m=width), at_ms=i)
            run.send("camera/image", make.picture(i), at_ms=i)
            verdict = Verdict(
                task="t", source="p", seq=i, admitted=True, stage_us=np.array([i + width])
            )
            run.send("gate/verdict", verdict, at_ms=i)
        run.trace()
    one, two, other = (digest(run.folder) for run in runs)
    assert one == two != other


def test_the_time_a_judgement_took_is_no_part_of_the_digest(planted):
    runs = [planted(), planted()]
    for run, taken_us in zip(runs, (10.0, 99.0), strict=True):
        verdict = Verdict(task="t", source="p", seq=0, admitted=True, stage_us=np.array([taken_us]))
        run.send("gate/verdict", verdict, at_ms=1)
        run.trace()
    assert digest(runs[0].folder) == digest(runs[1].folder)


def test_names_that_are_no_file_names_are_kept(plant):
    empty = ObjectPoses(names=(), world_from_object=np.zeros((0, 7)), confidence=np.zeros(0),
                        observed_ns=np.zeros(0, np.int64))  # fmt: skip
    plant.send("arm.left/../x/out", empty, at_ms=1)
    [stream] = plant.trace().streams
    assert stream.name == "arm.left/../x/out"


def test_a_folder_without_a_trace_says_what_is_expected(tmp_path):
    with pytest.raises(TraceError, match=r"expected a run folder with trace/meta\.json"):
        Trace(tmp_path)
    with pytest.raises(TraceError, match="no trace under"):
        newest_run(tmp_path)


def test_a_file_of_another_make_is_refused(plant, make):
    plant.send("sim/state", make.state(), at_ms=1)
    plant.trace()
    [file] = (plant.folder / "trace").glob("*.arrows")
    table = pa.table({"x": [1]})
    with pa.ipc.new_stream(str(file), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(TraceError, match="expected an Interlock trace of version 1"):
        Trace(plant.folder)


def test_a_field_that_is_newer_than_the_trace_has_its_default(plant):
    plant.send("policy/event", Event(kind="task", text="x"), at_ms=1)
    plant.trace()
    [file] = (plant.folder / "trace").glob("*.arrows")
    table = pa.ipc.open_stream(file.read_bytes()).read_all()
    message = table.column("message").combine_chunks()
    old = pa.StructArray.from_arrays(
        [message.field("kind"), message.field("text")], ["kind", "text"]
    )
    schema = table.schema.set(7, pa.field("message", old.type))
    with pa.ipc.new_stream(str(file), schema) as writer:
        writer.write_table(pa.table([*table.columns[:7], old], schema=schema))
    [read] = Trace(plant.folder).messages()
    assert read.message == Event(kind="task", text="x", data="{}")
    assert len(digest(plant.folder)) == 64
