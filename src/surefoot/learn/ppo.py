"""The one place that knows rsl-rl: actor, critic, PPO, and their state as plain tensors.

PPO is that of Schulman et al. 2017, Proximal policy optimization algorithms, arXiv 1707.06347, with advantages by GAE
(Schulman et al. 2016, High-dimensional continuous control using generalized advantage estimation, arXiv 1506.02438).
What comes on top is a KL anchor to an old policy (`Anchor`) and Polyak averaging of the actor's weights (Polyak and
Juditsky 1992, Acceleration of stochastic approximation by averaging).

rsl-rl's interface changes often; its version is pinned in the `train` extra and nothing else imports it. Its runner is
not used: it never resets, writes pickles and owns the screen.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from rsl_rl.algorithms import PPO
from rsl_rl.extensions import Symmetry
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
    average: int = 0  # Polyak averaging: memory, in updates, of the mean actor that is written; 0: the actor as it is


class Anchor:
    """A KL anchor: keeps the actor's mean actions near those of an old policy, in the states that the new one visits.

    A loss of this kind, with a weight that falls during training, is known as kickstarting (Schmitt et al. 2018,
    Kickstarting deep reinforcement learning, arXiv 1803.03835). Here it is the Kullback-Leibler divergence of two
    normal distributions with the same standard deviation, summed over joints: half the squared difference in units of
    `std`. rsl-rl has no place for a loss of one's own but that of its symmetry extension, so this takes that place, and
    does what the extension does besides.
    """

    use_mirror_loss = True

    def __init__(self, old: Callable[[torch.Tensor], torch.Tensor], std: float):
        self.old = old  # observations -> mean actions
        self.mirror_loss_coeff = 0.0  # rsl-rl's name for the weight of the loss
        self.symmetry: Symmetry | None = None
        self.squares: list[float] = []  # mean squared difference, of each minibatch of the last update
        self._std = std
        self._old_actions = torch.zeros(0)

    def augment_batch(self, batch: RolloutStorage.Batch, size: int) -> None:
        """Keep what the old policy would do, then append mirrored samples where there is a symmetry."""
        self._old_actions = batch.observations["old"]
        if self.symmetry is not None:
            self.symmetry.augment_batch(batch, size)

    def compute_loss(self, actor: MLPModel, batch: RolloutStorage.Batch, size: int) -> torch.Tensor:
        """The divergence, over the samples as they were collected."""
        square = (actor.output_mean[:size] - self._old_actions).square()
        self.squares.append(float(square.detach().mean()))
        return 0.5 * square.sum(dim=1).mean() / self._std**2


class Learner:
    """Actor, critic and optimizer; with an anchor, of a policy that is to stay near another one."""

    def __init__(
        self,
        observations: TensorDict,
        n_actions: int,
        settings: PPOSettings,
        mirror: Augment | None,
        network: torch.nn.Sequential | None = None,
        anchor: Anchor | None = None,
    ):
        """`network` takes the place of the actor's own, which `settings` describe."""
        groups = {"actor": ["actor"], "critic": ["critic"]}
        gaussian = {"class_name": "GaussianDistribution", "init_std": settings.start_std}
        hidden = list(settings.hidden)
        # The contract's scales already make the actor's inputs of order one, so that the exported network is the
        # trained one.
        self.actor = MLPModel(observations, groups, "actor", n_actions, hidden, settings.activation, False, gaussian)
        self.critic = MLPModel(observations, groups, "critic", 1, hidden, settings.activation, obs_normalization=True)
        if network is not None:
            self.actor.mlp = network
        self.anchor = anchor
        self._polyak_updates, self._averaged_updates = settings.average, 0
        self._polyak = copy.deepcopy(self.actor.mlp).requires_grad_(False)
        observations = self._with_old(observations)
        storage = RolloutStorage("rl", settings.worlds, settings.steps, observations, [n_actions], "cpu")
        symmetry = None
        if mirror is not None and settings.symmetry:
            symmetry = {"env": None, "data_augmentation_func": mirror, "use_data_augmentation": True}
        self.ppo = PPO(
            self.actor,
            self.critic,
            storage,
            num_learning_epochs=settings.epochs,
            num_mini_batches=settings.minibatches,
            clip_param=settings.clip,
            gamma=settings.gamma,
            lam=settings.gae_lambda,
            entropy_coef=settings.entropy,
            learning_rate=settings.learning_rate,
            desired_kl=settings.desired_kl,
            symmetry_cfg=symmetry,
        )
        if anchor is not None:
            anchor.symmetry, self.ppo.symmetry = self.ppo.symmetry, anchor

    @property
    def action_std(self) -> float:
        """Mean standard deviation of the actions."""
        return (
            float(self.actor.distribution.std_param.detach().mean())
            if hasattr(self.actor.distribution, "std_param")
            else float("nan")
        )

    @property
    def off_old(self) -> float:
        """RMS of what the mean actions differ by from the old policy's, in the last update; NaN without one."""
        return (
            float(np.mean(self.anchor.squares) ** 0.5)
            if self.anchor is not None and self.anchor.squares
            else float("nan")
        )

    def act(self, observations: TensorDict) -> torch.Tensor:
        """Actions with exploration noise, kept for the next update."""
        return self.ppo.act(self._with_old(observations))

    def compute_returns(self, observations: TensorDict, critic_only: bool = False) -> None:
        """Returns and advantages of what was collected; these observations come after it.

        A critic that starts from nothing beside an actor that walks sees 24 steps of a horizon of hundreds, and would
        take dozens of updates to reach the height of its own values. That height is known: the mean reward, for ever.
        """
        if critic_only and self.anchor is not None:
            storage = self.ppo.storage
            shift = storage.rewards.mean() / (1 - self.ppo.gamma) - storage.values.mean()
            self.critic.mlp[-1].bias.data += shift
            storage.values += shift
        self.ppo.compute_returns(observations)

    def set_learning_rate(self, learning_rate: float) -> None:
        """Go on with another learning rate."""
        self.ppo.learning_rate = learning_rate
        for group in self.ppo.optimizer.param_groups:
            group["lr"] = learning_rate

    def set_exploration(self, std: float) -> None:
        """Give the actions another standard deviation: an actor that already walks explores less."""
        with torch.no_grad():
            self.actor.distribution.std_param.fill_(std)

    def update(self, critic_only: bool = False) -> None:
        """One PPO update from what was collected."""
        for parameter in self.actor.parameters():
            parameter.requires_grad_(not critic_only)
        self.ppo.schedule = "fixed" if critic_only else "adaptive"
        if self.anchor is not None:
            # A clipped value moves by no more than the clip in one update, and a critic that begins at zero has farther
            # to go.
            self.ppo.use_clipped_value_loss = not critic_only
            self.anchor.squares.clear()
        self.ppo.update()
        if not critic_only and self._polyak_updates:
            self._averaged_updates += 1
            share = 1 / min(self._averaged_updates, self._polyak_updates)
            for mean, now in zip(self._polyak.parameters(), self.actor.mlp.parameters(), strict=True):
                mean.lerp_(now.detach(), share)
            for kept, now in zip(
                self._polyak.buffers(), self.actor.mlp.buffers(), strict=True
            ):  # a copied policy's normalizer, made since
                kept.copy_(now)

    @property
    def network(self) -> torch.nn.Sequential:
        """The actor to keep: the Polyak average where one is taken, which wanders less than the one that learns."""
        return self._polyak if self._averaged_updates else self.actor.mlp

    def layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The actor's layers as (weights (n_in, n_out), biases), for export."""
        linear = [module for module in self.actor.mlp if isinstance(module, torch.nn.Linear)]
        return [(module.weight.detach().numpy().T.copy(), module.bias.detach().numpy().copy()) for module in linear]

    def tensors(self) -> dict[str, torch.Tensor]:
        """Everything that learning needs to go on, by name."""
        tensors = {f"actor.{k}": v for k, v in self.actor.state_dict().items()}
        tensors |= {f"critic.{k}": v for k, v in self.critic.state_dict().items()}
        for index, state in self.ppo.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{k}": torch.as_tensor(v) for k, v in state.items()}
        tensors["learning_rate"] = torch.tensor(self.ppo.learning_rate, dtype=torch.float64)
        if self._polyak_updates:
            tensors |= {f"mean.{k}": v for k, v in self._polyak.state_dict().items()}
            tensors["averaged_updates"] = torch.tensor(self._averaged_updates)
        return {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}

    def restore(self, tensors: dict[str, torch.Tensor]) -> None:
        """Go on from what `tensors` returned."""
        try:
            for name, tensor in self.tensors().items():
                if name in tensors and tensors[name].dtype != tensor.dtype:  # torch would turn one into the other
                    raise ValueError(f"{name} holds {tensors[name].dtype}, not {tensor.dtype}")
            for name, tensor in tensors.items():
                if name.startswith("optimizer.") and not tensor.is_floating_point():
                    raise ValueError(f"{name} holds {tensor.dtype}, not {torch.float32}")
            for model, prefix in ((self.actor, "actor."), (self.critic, "critic.")):
                model.load_state_dict(_below(prefix, tensors))
            if self._polyak_updates:
                self._polyak.load_state_dict(_below("mean.", tensors))
                self._averaged_updates = int(tensors["averaged_updates"])
            state: dict[int, dict[str, torch.Tensor]] = {}
            for name, value in tensors.items():
                if name.startswith("optimizer."):
                    _, index, key = name.split(".", 2)
                    state.setdefault(int(index), {})[key] = value
            whole = self.ppo.optimizer.state_dict()
            whole["state"] = state
            self.ppo.optimizer.load_state_dict(whole)
            self.set_learning_rate(float(tensors["learning_rate"]))
        except (RuntimeError, KeyError, ValueError) as reason:
            raise SurefootError(
                f"the checkpoint does not fit this network: {' '.join(str(reason).split())[:200]}"
            ) from None

    def _with_old(self, observations: TensorDict) -> TensorDict:
        """Beside the observations, what the old policy would do there: asked once, read in every epoch."""
        if self.anchor is None:
            return observations
        with torch.no_grad():
            old = self.anchor.old(observations["actor"])
        return TensorDict({**dict(observations.items()), "old": old}, batch_size=observations.batch_size)


def _below(prefix: str, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
