"""What a fine-tuning may choose; without torch, so that defaults and help need none."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FineTuneSettings:
    """How far a policy may go, and how fast."""

    # of the 90 % intervals: out to 2.5 standard deviations, and a little for what the fit's family leaves out
    spread: float = 1.5
    # Weight of the KL divergence from the old policy. Normalized advantages follow an action with a correlation of some
    # 0.1, so that a weight of 0.1 lets the mean action go about one standard deviation before both are in balance: too
    # near. On go2-identified, 0.1 left 1.2 of 2.1 m of drift after 60 iterations, and 0.03 with twice the divergence of
    # an update 0.5 m after 110.
    anchor: float = 0.03
    # share of that weight which is left at the end: the gap has been learned, and drift without gain still costs
    anchor_end: float = 0.02
    # cost per second of a velocity error that lasts, m/s: a policy that walks drifts by that and not by single strides
    steady: float = 6.0
    # share of commands along one axis alone, which a random draw never is and an operator mostly gives
    straight: float = 0.3
    # exploration as training left it (0.16 to 0.22 on a Go2): more makes a policy that walks stumble
    start_std: float = 0.2
    # updates of the critic alone: it starts from nothing, and after 3 explains 60 % of the returns' variance
    critic_first: int = 5
    critic_rate: float = 1e-3  # learning rate meanwhile, as at the start of a training
    # learning rate of the actor's first update, as at the end of a training; it follows the divergence from then on
    actor_rate: float = 3e-4
    # of one update, twice training's own: a policy that walks can afford it, and minutes count
    desired_kl: float = 0.02
    entropy: float = 0.0  # nothing needs to be found that asks for more noise than there is
    # Polyak averaging: memory, in updates, of the mean weights that are written: PPO circles what it closes in on
    average: int = 20
    # before and after training, commands are corrected so that the place after so long is the commanded one; 0: never
    trim_s: float = 4.0
    # robots that walk with the old policy, trimmed, and with the new one, to see whether training is kept; 0: always
    judges: int = 96
    mirrored: bool = True  # learn from mirrored samples too, where the adaptation is symmetric
    worlds: int = 1024
    steps: int = 24
    epochs: int = 4
    minibatches: int = 4
    hidden: tuple[int, ...] = (128, 128, 128)  # of the critic, and of the actor where a policy has to be copied
