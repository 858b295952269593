"""ONNX policies and training checkpoints."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from fuzz_kinds.kind import Draw, Kind, Verbs, damaged, mutated, texts
from fuzz_kinds.robots import GO2

WALK = GO2 / "policies" / "walk.onnx"
RECORD = [
    "record",
    "--twin",
    "go2-identified",
    "--policy",
    "p.onnx",
    "--rollouts",
    "1",
    "--seconds",
    "0.1",
    "--out",
    "out/log.parquet",
    "--threads",
    "1",
]
OPERATORS = [
    "Relu",
    "Tanh",
    "Identity",
    "Sqrt",
    "Log",
    "Reciprocal",
    "Cast",
    "Shape",
    "Transpose",
    "NonZero",
    "Loop",
    "Erf",
    "Gemm",
    "TopK",
    "Nonsense",
]


@cache
def walk() -> bytes:
    return WALK.read_bytes()


def endless(model: onnx.ModelProto, forever: bool, conditional: bool) -> None:
    """Put a Loop before the output: without an end, or only where the input is large."""
    one = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Identity", ["cond_in"], ["cond_out"]), helper.make_node("Identity", ["x_in"], ["x_out"])],
        "body",
        [one("i", TensorProto.INT64, []), one("cond_in", TensorProto.BOOL, []), one("x_in", TensorProto.FLOAT, None)],
        [one("cond_out", TensorProto.BOOL, []), one("x_out", TensorProto.FLOAT, None)],
    )
    graph = model.graph
    output = graph.output[0].name
    for node in graph.node:
        node.output[:] = ["before_loop" if name == output else name for name in node.output]
    graph.initializer.append(numpy_helper.from_array(np.array(2**62 if forever else 3, dtype=np.int64), "turns"))
    if conditional:
        graph.initializer.append(numpy_helper.from_array(np.array(1e-3, dtype=np.float32), "threshold"))
        graph.node.append(helper.make_node("ReduceMax", [graph.input[0].name], ["largest"], keepdims=0))
        graph.node.append(helper.make_node("Greater", ["largest", "threshold"], ["go"]))
    else:
        graph.initializer.append(numpy_helper.from_array(np.array(True), "go"))
    graph.node.append(helper.make_node("Loop", ["turns", "go", "before_loop"], [output], body=body))


def policy(draw: Draw, folder: Path) -> Verbs:
    way = draw(
        st.sampled_from(
            [
                "bytes",
                "metadata",
                "metadata",
                "contract",
                "contract",
                "shape",
                "weights",
                "operator",
                "huge",
                "many",
                "external",
                "loop",
                "loop",
                "infinite",
                "infinite",
            ]
        )
    )
    model = onnx.load_model_from_string(walk())
    graph = model.graph
    if way == "metadata":
        for entry in model.metadata_props:
            if draw(st.booleans()):
                entry.value = draw(texts).encode("utf-8", "replace").decode()
        model.metadata_props.add(
            key=draw(texts).encode("utf-8", "replace").decode(), value=draw(texts).encode("utf-8", "replace").decode()
        )
    elif way == "contract":
        for entry in model.metadata_props:
            if entry.key == "surefoot.contract":
                entry.value = json.dumps(mutated(draw, json.loads(entry.value)), default=str)
    elif way == "shape":
        tensor = draw(st.sampled_from([graph.input[0], graph.output[0], graph.initializer[0]]))
        dims = tensor.dims if isinstance(tensor, TensorProto) else None
        if dims is not None:
            dims[:] = [draw(st.sampled_from([0, 1, 48, 2**31, 2**62])) for _ in range(draw(st.integers(0, 4)))]
        else:
            for dim in tensor.type.tensor_type.shape.dim:
                dim.dim_value = draw(st.sampled_from([0, 1, 12, 48, 2**31, -1]))
            tensor.type.tensor_type.elem_type = draw(st.integers(0, 24))
    elif way == "weights":
        tensor = draw(st.sampled_from(list(graph.initializer)))
        array = np.full([int(size) for size in tensor.dims], draw(st.floats()) if draw(st.booleans()) else np.nan)
        with np.errstate(all="ignore"):
            tensor.CopyFrom(numpy_helper.from_array(array.astype(np.float32), tensor.name))
    elif way == "operator":
        node = draw(st.sampled_from(list(graph.node)))
        node.op_type = draw(st.sampled_from(OPERATORS))
        node.domain = draw(st.sampled_from(["", "", "com.microsoft", "x"]))
    elif way == "huge":  # a constant of many gigabytes from a few bytes
        graph.initializer.append(
            numpy_helper.from_array(
                np.array([draw(st.sampled_from([10, 2**30, 2**33, 2**40]))], dtype=np.int64), "much"
            )
        )
        graph.node.insert(0, helper.make_node("ConstantOfShape", ["much"], ["filled"]))
        graph.node.append(helper.make_node("ReduceMax", ["filled"], ["unused"], keepdims=0))
        graph.output.append(helper.make_tensor_value_info("unused", TensorProto.FLOAT, None))
    elif way == "many":
        name = graph.input[0].name
        for i in range(draw(st.sampled_from([10, 2000, 30_000]))):
            graph.node.append(helper.make_node("Identity", [name], [f"more_{i}"]))
            name = f"more_{i}"
    elif way == "external":
        tensor = graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(
            key="location",
            value=draw(st.sampled_from(["../secret", "/etc/passwd", "weights.bin", "p.onnx", "", "pipe"])),
        )
    elif way == "infinite":  # from the first tick on, or only where it is told to walk
        output = graph.output[0].name
        for node in graph.node:
            node.output[:] = ["before_infinity" if name == output else name for name in node.output]
        value = draw(st.sampled_from([np.inf, -np.inf, np.nan, 1e38]))
        graph.initializer.append(numpy_helper.from_array(np.array([value], dtype=np.float32), "infinity"))
        graph.node.append(
            helper.make_node(draw(st.sampled_from(["Add", "Mul"])), ["before_infinity", "infinity"], [output])
        )
    elif way == "loop":
        endless(model, forever=draw(st.integers(0, 24)) == 0, conditional=draw(st.booleans()))
    content = model.SerializeToString()
    (folder / "p.onnx").write_bytes(damaged(draw, content) if way == "bytes" else content)
    verb = draw(st.sampled_from(["show", "attach", "record"]))
    attach = ["policy", "attach", "p.onnx", "--robot", "go2", "--replace", "--out", "out/a.onnx"]
    return [{"show": ["policy", "show", "p.onnx"], "attach": attach, "record": RECORD}[verb]]


def checkpoint(draw: Draw, folder: Path) -> Verbs:
    """A training that goes on from a checkpoint which is not what it was."""
    from safetensors.numpy import save

    arrays = {"actor.mlp.0.weight": np.zeros((4, 4), np.float32), "learning_rate": np.array(1e-3)}
    state = mutated(
        draw,
        {
            "iteration": 3,
            "elapsed_s": 4.0,
            "runs": 1,
            "taught": True,
            "config": {"robot": "go2", "seed": 0, "task": {"name": "walk"}, "ppo": {}},
        },
    )
    dtype = draw(st.sampled_from([np.float32, np.float32, np.float16, np.int8, np.int64, np.bool_]))
    arrays["actor.mlp.0.weight"] = arrays["actor.mlp.0.weight"].astype(dtype)
    if draw(st.booleans()) and dtype in (np.float32, np.float16):
        arrays["actor.mlp.0.weight"][0, 0] = draw(st.sampled_from([np.nan, np.inf, 1.0]))
    content = save(arrays, metadata={"state": json.dumps(state, default=str)})
    run = folder / "out" / "run"
    run.mkdir(parents=True)
    (run / "checkpoint.safetensors").write_bytes(damaged(draw, content) if draw(st.booleans()) else content)
    return [
        [
            "train",
            "walk",
            "--iterations",
            "1",
            "--worlds",
            "2",
            "--no-evaluate",
            "--out",
            "out/run",
            "--threads",
            "1",
            "--overwrite",
        ]
    ]


KINDS = (Kind("ONNX policy", policy, cases=2600), Kind("checkpoint", checkpoint, cases=200))
