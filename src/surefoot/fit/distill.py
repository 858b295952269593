"""Distillation: a small network learns the function that the search found, by Levenberg-Marquardt in NumPy.

The search works on curves, which are linear in their knots; what is kept, exported and run is a network (Hinton,
Vinyals and Dean 2015, Distilling the knowledge in a neural network, arXiv 1503.02531, gave this way of training its
name). Its weights w minimize the weighted squared error, plus weight decay, by Levenberg-Marquardt (Marquardt 1963, An
algorithm for least-squares estimation of nonlinear parameters): (J'J + damping diag(J'J)) dw = -J'r, where the damping
falls after a step that helps and grows after one that does not. The network is fitted where the function claims
something, and a little beyond, so that it stays level there.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from surefoot.sim.network import HIDDEN
from surefoot.sim.residual import INPUTS
from surefoot.streams import Stream

SAMPLES = 1500  # of what the robot did, and as many drawn evenly over the box around it
BEYOND = 0.25  # of the box: how far it is held level outside
STARTS, ITERATIONS = 3, 150
SMALL = 1e-9  # improvement by which an iteration is the last, as a share
WEIGHT_DECAY = 1e-6  # keeps weights that do nothing from wandering
Layers = tuple[tuple[np.ndarray, np.ndarray], ...]


def distill(
    function: Callable[[np.ndarray], np.ndarray], seen: np.ndarray, limit: float, seed: int = 0
) -> tuple[Layers, float]:
    """Layers of a network for `function` of inputs (rows, 3), and how far it is off where the robot was,
    root mean square.

    `seen` are inputs that the robot took; the network gives at most `limit`.
    """
    rng = np.random.default_rng([seed, Stream.DISTILLATION])
    seen = seen[rng.permutation(len(seen))[:SAMPLES]]
    low, high = np.quantile(seen, (0.005, 0.995), axis=0)
    size = np.maximum(high - low, 1e-6)
    drawn = rng.uniform(low - BEYOND * size, high + BEYOND * size, (SAMPLES, len(INPUTS)))
    inputs = np.concatenate([seen, drawn])
    target = np.arctanh(
        np.clip(function(inputs) / limit, -0.98, 0.98)
    )  # before the last tanh, where errors count alike
    scaled = (inputs - (low + high) / 2) / (size / 2)
    weight = np.concatenate([np.full(len(seen), 1.0), np.full(len(drawn), 0.5)])
    tries = [
        _fit(scaled, target, weight, np.random.default_rng([seed, Stream.DISTILLATION_STARTS, k]))
        for k in range(STARTS)
    ]
    layers = min(tries, key=lambda layers_and_cost: layers_and_cost[1])[0]
    first, bias = layers[0]
    first = first / (size / 2)
    layers = ((first, bias - first @ ((low + high) / 2)), *layers[1:])
    off = limit * np.tanh(_forward(layers, seen)[-1][:, 0]) - function(seen)
    return layers, float(np.sqrt(np.square(off).mean()))


def _fit(inputs: np.ndarray, target: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> tuple[Layers, float]:
    sizes = (len(INPUTS), *HIDDEN, 1)
    layers: Layers = tuple((rng.normal(0, a**-0.5, (b, a)), rng.normal(0, 0.3, b)) for a, b in pairwise(sizes))
    damping = 1e-2
    flat = _flat(layers)
    residual, jacobian = _linear(_shaped(flat), inputs, target, weight)
    cost = float(residual @ residual) + WEIGHT_DECAY * float(flat @ flat)
    for _ in range(ITERATIONS):
        normal = jacobian.T @ jacobian + WEIGHT_DECAY * np.eye(len(flat))
        gradient = jacobian.T @ residual + WEIGHT_DECAY * flat
        step = np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-9), -gradient)
        tried = flat + step
        new_residual, new_jacobian = _linear(_shaped(tried), inputs, target, weight)
        new_cost = float(new_residual @ new_residual) + WEIGHT_DECAY * float(tried @ tried)
        if new_cost < cost:
            settled = cost - new_cost < SMALL * cost
            flat, residual, jacobian, cost = tried, new_residual, new_jacobian, new_cost
            damping = max(damping / 3, 1e-9)
            if settled:
                break
        else:
            damping *= 4
            if damping > 1e8:
                break
    return _shaped(flat), cost


def _forward(layers: Layers, inputs: np.ndarray) -> list[np.ndarray]:
    """Inputs and outputs of the layers, (rows, units); the last is before its tanh."""
    values = [inputs]
    for k, (weight, bias) in enumerate(layers):
        linear = values[-1] @ weight.T + bias
        values.append(linear if k == len(layers) - 1 else np.tanh(linear))
    return values


def _linear(
    layers: Layers, inputs: np.ndarray, target: np.ndarray, row_weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted residuals, and their derivative by all weights."""
    values = _forward(layers, inputs)
    back = np.ones((len(inputs), 1))
    parts: list[np.ndarray] = []
    for k in range(len(layers) - 1, -1, -1):
        outer = back[:, :, None] * values[k][:, None, :]
        parts = [outer.reshape(len(inputs), -1), back, *parts]
        if k:
            back = (back @ layers[k][0]) * (1 - values[k] ** 2)
    scale = row_weight / np.sqrt(len(inputs))
    return (values[-1][:, 0] - target) * scale, np.concatenate(parts, axis=1) * scale[:, None]


def _flat(layers: Layers) -> np.ndarray:
    return np.concatenate([part.ravel() for weight, bias in layers for part in (weight, bias)])


def _shaped(flat: np.ndarray) -> Layers:
    layers, at = [], 0
    for a, b in pairwise((len(INPUTS), *HIDDEN, 1)):
        weight = flat[at : at + a * b].reshape(b, a)
        layers.append((weight, flat[at + a * b : at + a * b + b]))
        at += a * b + b
    return tuple(layers)
