"""A model as an ONNX graph. OPSET and IR are low, for older runtimes.

ids (steps, lanes), states and, of an LSTM, cells (layers, lanes, hidden) become logits (steps,
lanes, symbols), states_out and cells_out. The first id is END (0), after zero states. Runtimes
compute in 32 bits, so drawn texts differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from charrnn.errors import MissingPackageError
from charrnn.export import ExportOptions, check_known
from charrnn.export.torch import CELLS, HEADS, metadata, torch_arrays
from charrnn.model_file import Trained
from charrnn.network.architecture import Architecture
from charrnn.network.rounding import Array
from charrnn.vocabulary import END

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

OPSET: Final = 17
IR: Final = 8
GATES: Final = {"RNN": (0,), "GRU": (1, 0, 2), "LSTM": (0, 3, 1, 2)}  # torch's, in ONNX's order


def export(trained: Trained, options: ExportOptions) -> bytes:
    architecture = trained.model.architecture
    check_known(architecture, "an ONNX graph", CELLS, HEADS)
    try:
        import onnx
    except ImportError:
        raise MissingPackageError("onnx", "onnx") from None

    model = onnx.helper.make_model(
        Graph(architecture, torch_arrays(trained.model.parameters)).proto(),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR,
        producer_name="charrnn",
    )
    onnx.helper.set_model_props(model, metadata(trained))
    onnx.checker.check_model(model, full_check=True)
    data: bytes = model.SerializeToString(deterministic=True)
    return data


class Graph:
    """A graph under construction: its nodes, and the numbers that they need."""

    def __init__(self, architecture: Architecture, arrays: dict[str, Array]) -> None:
        self.architecture, self.arrays = architecture, arrays
        self.cell = CELLS[architecture.cell_name]
        self.states = ["states", "cells"][: len(architecture.cell.states)]
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def proto(self) -> GraphProto:
        """Build the whole graph."""
        from onnx import helper

        symbols, hidden = self.architecture.symbols, self.architecture.hidden
        layers = range(self.architecture.layers)
        depth = self.constant("symbol_count", np.array(symbols, np.int64))
        values = self.constant("off_and_on", np.array([0, 1], np.float32))
        below = self.add("OneHot", "ids", depth, values, to=["below_0"])
        ones = self.constant("one_each", np.ones(len(layers), np.int64))
        for state in self.states:
            self.add("Split", state, ones, to=[f"{state}_{layer}" for layer in layers], axis=0)
        for layer in layers:
            below = self.layer(layer, below)
        for state in self.states:
            parts = [f"{state}_out_{layer}" for layer in layers]
            self.add("Concat", *parts, to=[f"{state}_out"], axis=0)
        self.readout(below)
        lanes: list[int | str] = [len(layers), "lanes", hidden]
        inputs = [info("ids", "INT64", ["steps", "lanes"])]
        inputs += [info(state, "FLOAT", lanes) for state in self.states]
        outputs = [info("logits", "FLOAT", ["steps", "lanes", symbols])]
        outputs += [info(f"{state}_out", "FLOAT", lanes) for state in self.states]
        return helper.make_graph(self.nodes, "charrnn", inputs, outputs, self.constants)

    def layer(self, layer: int, below: str) -> str:
        """Add a cell over all steps. Return the name of its states for the layer above."""
        order = GATES[self.cell]
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        arrays = (np.split(self.arrays[f"rnn.{name}_l{layer}"], len(order)) for name in names)
        U, W, b, d = (np.concatenate([array[gate] for gate in order]) for array in arrays)
        attributes: dict[str, Any] = {"hidden_size": self.architecture.hidden}
        if self.cell == "GRU":
            attributes["linear_before_reset"] = 1  # the reset comes after the product
        self.add(
            *(self.cell, below),
            self.constant(f"U_{layer}", U[None]),
            self.constant(f"W_{layer}", W[None]),
            self.constant(f"b_{layer}", np.concatenate([b, d])[None]),
            "",  # no lengths: all lanes have as many steps
            *(f"{state}_{layer}" for state in self.states),
            to=[f"h_{layer}", *(f"{state}_out_{layer}" for state in self.states)],
            **attributes,
        )
        direction = self.constant(f"direction_{layer}", np.array([1], np.int64))
        return self.add("Squeeze", f"h_{layer}", direction, to=[f"below_{layer + 1}"])

    def readout(self, h: str) -> None:
        """Add the nodes from the states of the top layer to the logits."""
        is_unit = "halt.weight" in self.arrays
        for name, to in [("out", "others")] + ([("halt", "end")] if is_unit else []):
            V = self.constant(f"V_{name}", self.arrays[f"{name}.weight"].T)
            c = self.constant(f"c_{name}", self.arrays[f"{name}.bias"])
            self.add("MatMul", h, V, to=[f"V_h_{name}"])
            self.add("Add", f"V_h_{name}", c, to=[to if is_unit else "logits"])  # (10.10)
        if is_unit:
            self.add("LogSoftmax", "others", to=["log_others"], axis=-1)
            parts = ["log_others"]
            parts.insert(END, "end")
            self.add("Concat", *parts, to=["logits"], axis=-1)

    def add(self, operator: str, *inputs: str, to: list[str], **attributes: Any) -> str:
        """Add a node. Return the name of its first output."""
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, to, name=f"to_{to[0]}", **attributes))
        return to[0]

    def constant(self, name: str, array: Array | np.ndarray[Any, Any]) -> str:
        """Add numbers to the graph. Return their name."""
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name


def info(name: str, kind: str, shape: list[int | str]) -> ValueInfoProto:
    """Describe an input or an output. A size with a name may be any number."""
    from onnx import TensorProto, helper

    return helper.make_tensor_value_info(name, getattr(TensorProto, kind), shape)
