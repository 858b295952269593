"""The one place that knows rsl-rl: actor, critic, PPO, and their state as plain tensors.

rsl-rl's interface changes often; its version is pinned in the `train` extra and nothing else imports it. Its runner
is not used: it never resets, writes pickles and owns the screen.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from rsl_rl.algorithms import PPO
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict

from surefoot.errors import SurefootError

Augment = Callable[..., tuple[TensorDict | None, torch.Tensor | None]]


@dataclass(frozen=True)
class PPOSettings:
    """PPO as it works on two cores."""

    worlds: int = 1024
    steps: int = 24  # control periods per world between two updates
    epochs: int = 4
    minibatches: int = 4
    learning_rate: float = 1e-3  # the start; it follows the KL divergence from then on
    desired_kl: float = 0.01
    clip: float = 0.2
    gamma: float = 0.99
    gae_lambda: float = 0.95
    entropy: float = 0.001
    hidden: tuple[int, ...] = (128, 128, 128)
    activation: str = "relu"  # ELU is several times slower on a CPU
    start_std: float = 0.8  # of an actor that knows nothing
    taught_std: float = 0.3  # of one that had a teacher
    critic_first: int = 3  # updates of the critic alone, for an actor that had a teacher: its value is not known yet
    symmetry: bool = True  # learn from mirrored copies of all samples, where the robot declares a symmetry


class Learner:
    """Actor, critic and optimizer."""

    def __init__(self, observations: TensorDict, n_actions: int, settings: PPOSettings, mirror: Augment | None):
        groups = {"actor": ["actor"], "critic": ["critic"]}
        gaussian = {"class_name": "GaussianDistribution", "init_std": settings.start_std}
        hidden = list(settings.hidden)
        # The contract's scales already make the actor's inputs of order one, so that the exported network is the trained one.
        self.actor = MLPModel(observations, groups, "actor", n_actions, hidden, settings.activation, False, gaussian)
        self.critic = MLPModel(observations, groups, "critic", 1, hidden, settings.activation, obs_normalization=True)
        storage = RolloutStorage("rl", settings.worlds, settings.steps, observations, [n_actions], "cpu")
        symmetry = None
        if mirror is not None and settings.symmetry:
            symmetry = {"env": None, "data_augmentation_func": mirror, "use_data_augmentation": True}
        self.ppo = PPO(
            self.actor, self.critic, storage,
            num_learning_epochs=settings.epochs, num_mini_batches=settings.minibatches, clip_param=settings.clip, gamma=settings.gamma,
            lam=settings.gae_lambda, entropy_coef=settings.entropy, learning_rate=settings.learning_rate, desired_kl=settings.desired_kl,
            symmetry_cfg=symmetry,
        )  # fmt: skip

    @property
    def action_std(self) -> float:
        """Mean standard deviation of the actions."""
        return float(self.actor.distribution.std_param.detach().mean()) if hasattr(self.actor.distribution, "std_param") else float("nan")

    def start_taught(self, std: float) -> None:
        """Explore less: the actor already walks."""
        with torch.no_grad():
            self.actor.distribution.std_param.fill_(std)

    def update(self, critic_only: bool = False) -> None:
        """One PPO update from what was collected."""
        for parameter in self.actor.parameters():
            parameter.requires_grad_(not critic_only)
        self.ppo.schedule = "fixed" if critic_only else "adaptive"
        self.ppo.update()

    def layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The actor's layers as (weights (n_in, n_out), biases), for export."""
        linear = [module for module in self.actor.mlp if isinstance(module, torch.nn.Linear)]
        return [(module.weight.detach().numpy().T.copy(), module.bias.detach().numpy().copy()) for module in linear]

    def tensors(self) -> dict[str, torch.Tensor]:
        """Everything that learning needs to go on, by name."""
        found = {f"actor.{k}": v for k, v in self.actor.state_dict().items()}
        found |= {f"critic.{k}": v for k, v in self.critic.state_dict().items()}
        for index, state in self.ppo.optimizer.state_dict()["state"].items():
            found |= {f"optimizer.{index}.{k}": torch.as_tensor(v) for k, v in state.items()}
        found["learning_rate"] = torch.tensor(self.ppo.learning_rate, dtype=torch.float64)
        return {name: tensor.detach().contiguous().clone() for name, tensor in found.items()}

    def restore(self, tensors: dict[str, torch.Tensor]) -> None:
        """Go on from what `tensors` returned."""
        try:
            for model, prefix in ((self.actor, "actor."), (self.critic, "critic.")):
                model.load_state_dict({name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)})
        except RuntimeError as reason:
            raise SurefootError(f"the checkpoint does not fit this network: {' '.join(str(reason).split())[:200]}") from None
        state: dict[int, dict[str, torch.Tensor]] = {}
        for name, value in tensors.items():
            if name.startswith("optimizer."):
                _, index, key = name.split(".", 2)
                state.setdefault(int(index), {})[key] = value
        whole = self.ppo.optimizer.state_dict()
        whole["state"] = state
        self.ppo.optimizer.load_state_dict(whole)
        self.ppo.learning_rate = float(tensors["learning_rate"])
        for group in self.ppo.optimizer.param_groups:
            group["lr"] = self.ppo.learning_rate
