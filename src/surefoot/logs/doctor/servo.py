"""From action to motion: delay, actions on the wrong joint or with the wrong sign, scale, offset, torque limits.

A joint is driven by its servo, I dv/dt = kp (target - q) - kd v + load. The load is unknown, so each figure here is one
that the load hardly moves: how well the change of velocity is explained by a target (delay, joint, sign), the work of
the servo against its own damping (scale), and the mean of target - q against the robot's weight (offset).
"""

import dataclasses
from dataclasses import dataclass

import numpy as np

from surefoot.logs.doctor.findings import Delay, Finding, listed
from surefoot.logs.doctor.joints import Fault, mapping, repaired
from surefoot.logs.doctor.legs import Legs
from surefoot.logs.doctor.signals import Signals

LONGEST_DELAY_S = 0.3
SLOW_S, VERY_SLOW_S = 0.1, 0.2
STEPS = 8  # delays tried in one control period
RESAMPLES = 200
BLOCK_S = 4.0
FEWEST_ROWS = 300
INFORMED = -0.05  # mean log share of the variance that targets leave unexplained; above it they explain nothing
NEARLY = 0.85
PAIR_GAIN = 0.12  # in the log of the unexplained variance, summed over the joints of a change
NEARER_RAD = 0.1  # summed over the joints of a fault
GRAVITY_M_S2 = 9.81
SMALLEST_CHANGE_RAD = 1e-4  # of a target in one control period
LEAST_MOVING = 0.1  # share of the rows in which targets change
ALIKE = 0.98


@dataclass(frozen=True, eq=False)
class ServoFit:
    """How well target i (column) explains the motion of joint j (row), (n_joints, n_joints) each: logs, 0
    for not at all.
    """

    plain: np.ndarray  # with the sign that the contract says
    turned: np.ndarray  # with the opposite sign
    rows: int

    def each(self, index: np.ndarray, sign: np.ndarray) -> np.ndarray:
        """For each joint, when joint j is driven by target index[j] with this sign, (n_joints,)."""
        own = np.arange(len(index))
        return np.where(sign > 0, self.plain[own, index], self.turned[own, index])

    def total(self, index: np.ndarray, sign: np.ndarray) -> float:
        """Over all joints."""
        return float(self.each(index, sign).sum())


@dataclass(frozen=True, eq=False)
class Response:
    """Sums of products over blocks of a log: all that is needed to try delays, so that resampling costs
    next to nothing.
    """

    gram: np.ndarray  # (n_joints, blocks, width, width) of 1, position, velocity, its change, and targets of each lag
    lags: np.ndarray  # delays to try, control periods
    period_s: float

    @property
    def curve(self) -> np.ndarray:
        """Log share of the motion that the targets leave unexplained, (n_joints, lags)."""
        return _unexplained(self.gram.sum(1), self.lags)

    @property
    def depth(self) -> float:
        """How much of the motion targets explain at the best delay: the lower, the more."""
        return float(self.curve.sum(0).min())


def respond(signals: Signals) -> Response | None:
    """How velocities change after targets; None where the log is too short to say.

    A delay d makes the target that acts in a period a mix of two logged ones; the right d leaves the least of
    v[k+1] - v[k] unexplained, beside the joint's own position and velocity.
    """
    period = signals.period_s
    longest = int(np.ceil(LONGEST_DELAY_S / period)) if period > 0 else 0
    rows = signals.windows(longest + 1, 1)
    if longest < 1 or len(rows) < FEWEST_ROWS:
        return None
    target = signals.target - np.array(signals.contract.pose_rad)
    block = _blocks(signals, rows)
    starts = np.flatnonzero(np.diff(block, prepend=block[0] - 1))
    sums = []
    for j in range(signals.contract.n_joints):
        velocity = signals.velocity[:, j]
        columns = [np.ones(len(rows)), signals.position[rows, j], velocity[rows], velocity[rows + 1] - velocity[rows]]
        columns += [target[rows - lag, j] for lag in range(longest + 2)]
        table = np.stack(columns, axis=1)
        sums.append([part.T @ part for part in np.split(table, starts[1:])])
    return Response(np.array(sums), np.arange(0, longest * STEPS) / STEPS, period)


def check_excitation(signals: Signals) -> list[Finding]:
    """Say so where targets hardly change, or all in the same way: a step, or one chirp for all joints."""
    rows = signals.windows(0, 1)
    if len(rows) < FEWEST_ROWS:
        return []
    change = signals.target[rows + 1] - signals.target[rows]
    moving = float((np.abs(change).max(axis=1) > SMALLEST_CHANGE_RAD).mean())
    lively = change[:, change.std(axis=0) > SMALLEST_CHANGE_RAD]
    alike = (
        float(np.median(np.abs(np.corrcoef(lively.T))[np.triu_indices(lively.shape[1], 1)]))
        if lively.shape[1] > 2
        else 0.0
    )
    if moving >= LEAST_MOVING and alike < ALIKE:
        return []
    evidence = (
        f"targets change in {moving:.0%} of the rows"
        if moving < LEAST_MOVING
        else f"the median correlation between targets of two joints is {alike:.2f}"
    )
    return [
        Finding(
            "one-excitation",
            "note",
            (
                "targets hardly change, or change alike in all joints"
                if moving < LEAST_MOVING
                else "the targets of all joints change alike"
            ),
            evidence,
            "which action drives which joint, with which sign and after which delay, cannot be told from this log",
            "to check those, record walking, or move the joints one after the other",
        )
    ]


def estimate_delay(response: Response | None, seed: int = 0) -> Delay | None:
    """Delay between an action and the torque that it causes, with a 95 % interval over parts of the log and
    over joints.
    """
    if response is None:
        return None
    gram, lags, curve = response.gram, response.lags, response.curve
    if curve.min(axis=1).mean() > INFORMED:
        return None
    n_joints, blocks = gram.shape[:2]
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(blocks, np.full(blocks, 1 / blocks), RESAMPLES)
    drawn = np.einsum("rb,jbxy->rjxy", weights.astype(float), gram, optimize=True)
    best = [_first_dip(_unexplained(one, lags)[rng.integers(0, n_joints, n_joints)].sum(0)) for one in drawn]
    low, high = np.quantile(lags[best], [0.025, 0.975]) * response.period_s
    return Delay(float(lags[_first_dip(curve.sum(0))] * response.period_s), float(low), float(high))


def follow(signals: Signals, faults: list[Fault], legs: Legs) -> tuple[Signals, list[Fault]]:
    """Put the actions right as well where faults of the joints hold for them too; the faults that do.

    The motion decides; where it says nothing (a hip on a straight walk), the mean of the targets against
    the robot's weight.
    """
    also = []
    response, expected = respond(signals), weight_offset(signals, legs)
    for fault in faults:
        if response is None or "position" not in fault.channels or "velocity" not in fault.channels:
            continue
        same = dataclasses.replace(fault, channels=frozenset({"action"}))
        changed = repaired(signals, same)
        other = respond(changed)
        if other is None:
            continue
        gain, joints = response.depth - other.depth, list(fault.joints)
        nearer = _off_weight(signals, expected)[joints].sum() - _off_weight(changed, expected)[joints].sum()
        if gain > PAIR_GAIN or (gain > -PAIR_GAIN and nearer > NEARER_RAD):
            signals, response = changed, other
            also.append(same)
    return signals, also


def _off_weight(signals: Signals, expected: np.ndarray) -> np.ndarray:
    """How far the mean of target - position is from what carrying the robot's weight takes, (n_joints,) rad."""
    return np.abs((signals.target - signals.position).mean(axis=0) - expected)


def _first_dip(curve: np.ndarray) -> int:
    """The earliest dip that is nearly as deep as the deepest: a gait repeats itself, and so does this
    curve, one stride later.
    """
    around = np.concatenate([[np.inf], curve, [np.inf]])
    dips = np.flatnonzero((curve <= around[:-2]) & (curve <= around[2:]) & (curve <= NEARLY * curve.min()))
    return int(dips[0])


def _blocks(signals: Signals, rows: np.ndarray) -> np.ndarray:
    """A number for each row, rising: new with each piece and every few seconds."""
    piece = signals.piece[rows]
    starts = np.flatnonzero(np.diff(piece, prepend=piece[0] - 1))
    age = np.arange(len(rows)) - np.repeat(starts, np.diff([*starts, len(rows)]))
    new = (age % max(1, round(BLOCK_S / signals.period_s))) == 0
    return np.cumsum(new)


def _unexplained(gram: np.ndarray, lags: np.ndarray) -> np.ndarray:
    """Log share of the variance of the fourth column that a target of each lag leaves, (joints, lags),
    beside the first three.
    """
    known = (
        gram[:, :3, :3]
        + 1e-9 * np.trace(gram[:, :3, :3], axis1=1, axis2=2)[:, None, None] * np.eye(3)
        + 1e-30 * np.eye(3)
    )
    rest = gram[:, 3:, 3:] - gram[:, 3:, :3] @ np.linalg.solve(known, gram[:, :3, 3:])
    whole, part = lags.astype(int), lags - lags.astype(int)
    diagonal = np.diagonal(rest, axis1=1, axis2=2)
    with_y, square, next_to = rest[:, 0, 1:], diagonal[:, 1:], np.diagonal(rest[:, 1:, 1:], 1, 1, 2)
    xy = (1 - part) * with_y[:, whole] + part * with_y[:, whole + 1]
    xx = (1 - part) ** 2 * square[:, whole] + part**2 * square[:, whole + 1] + 2 * part * (1 - part) * next_to[:, whole]
    explained = np.maximum(xy, 0) ** 2 / np.maximum(xx, 1e-30) / np.maximum(diagonal[:, :1], 1e-30)
    return np.log(np.clip(1 - explained, 1e-6, 1))


def check_delay(delay: Delay | None, period_s: float) -> list[Finding]:
    """Say so where a robot answers late."""
    if delay is None or delay.low_s < SLOW_S:
        return []
    return [
        Finding(
            "delay",
            "error" if delay.low_s > VERY_SLOW_S else "warning",
            f"motion follows actions {delay.seconds * 1e3:.0f} ms later",
            f"95 % interval {delay.low_s * 1e3:.0f} to {delay.high_s * 1e3:.0f} ms; the control period is"
            f" {period_s * 1e3:.0f} ms",
            "no servo is this slow: actions and joints are stamped by different clocks, or a queue lies between them",
            "record actions where they are sent to the motors, on the clock of the joint readings",
        )
    ]


def fit_targets(signals: Signals, delay: Delay | None) -> ServoFit | None:
    """Explain the change of each joint's velocity over two control periods by each target."""
    shift = 0 if delay is None else int(delay.seconds / signals.period_s)
    rows = signals.windows(shift + 1, 2)
    if len(rows) < FEWEST_ROWS:
        return None
    rows = rows[:: max(1, len(rows) // 20_000)]
    n = signals.contract.n_joints
    target = signals.target
    inputs = np.stack(
        [target[rows - shift - 1], target[rows - shift], target[rows - shift + 1]], axis=2
    )  # (rows, joints, 3)
    plain, turned = np.zeros((n, n)), np.zeros((n, n))
    for j in range(n):
        known = np.stack([np.ones(len(rows)), signals.position[rows, j], signals.velocity[rows, j]], axis=1)
        q, _ = np.linalg.qr(known)
        y = signals.velocity[rows + 2, j] - signals.velocity[rows, j]
        y = y - q @ (q.T @ y)
        rest = inputs.reshape(len(rows), -1)
        rest = (rest - q @ (q.T @ rest)).reshape(inputs.shape)
        gram = rest.transpose(1, 2, 0) @ rest.transpose(1, 0, 2)
        gram += (1e-9 * np.trace(gram, axis1=1, axis2=2) + 1e-30)[:, None, None] * np.eye(3)
        with_y = np.tensordot(rest, y, (0, 0))
        weights = np.linalg.solve(gram, with_y[..., None])[..., 0]
        left = np.log(np.clip(1 - (weights * with_y).sum(1) / max(float(y @ y), 1e-30), 1e-6, 1))
        plain[j], turned[j] = np.where(weights.sum(1) > 0, left, 0), np.where(weights.sum(1) < 0, left, 0)
    return ServoFit(plain, turned, len(rows))


def check_actions(signals: Signals, fit: ServoFit, dead: set[int]) -> list[Fault]:
    """Actions on the wrong joint or with the wrong sign; the change that explains the motion best is taken
    until none does.
    """
    n = signals.contract.n_joints
    margin = max(PAIR_GAIN, 6 / np.sqrt(fit.rows))
    channel, everything = frozenset({"action"}), tuple(range(n))
    options = [Fault("flip", (i,), channel, "") for i in range(n)]
    options += [Fault("swap", (i, j), channel, "") for i in range(n) for j in range(i + 1, n)]
    if signals.robot.mirror is not None:
        options += [Fault(kind, everything, channel, "") for kind in ("mirror", "sides", "signs")]
    faults: list[Fault] = []
    index, sign = np.arange(n), np.ones(n)
    options = [option for option in options if len(option.joints) == n or not dead & set(option.joints)]
    while options and len(faults) < n:
        now = fit.each(index, sign)
        results = []
        for option in options:
            at, turned = mapping(option.kind, option.joints, signals)
            change = fit.each(index[at], sign[at] * turned) - now
            both = (
                option.kind != "swap" or change[list(option.joints)].max() < -margin / 4
            )  # not one at the cost of the other
            results.append(change.sum() if both else 0.0)
        best = int(np.argmin(results))
        if results[best] > -margin * (n / 2 if len(options[best].joints) == n else 1):
            break
        option = options[best]
        at, turned = mapping(option.kind, option.joints, signals)
        index, sign = index[at], sign[at] * turned
        evidence = (
            f"as logged, actions leave {np.exp(-results[best]):.2f} times as much of the motion unexplained as with"
            " this put right"
        )
        faults.append(Fault(option.kind, option.joints, channel, evidence))
    return faults


def check_torque(signals: Signals, torque_nm: np.ndarray | None) -> list[Finding]:
    """Torque limits that are reached: measured where it was recorded, as the servo would give it otherwise."""
    contract = signals.contract
    limit = np.array(contract.torque_limit_nm)
    if not len(signals.row):
        return []
    if torque_nm is not None:
        torque, source = torque_nm, "recorded torque"
    else:
        kp, kd = np.array(contract.kp_nm_per_rad), np.array(contract.kd_nms_per_rad)
        torque, source = (
            kp * (signals.target - signals.position) - kd * signals.velocity,
            "kp (target - position) - kd velocity",
        )
    share = (np.abs(torque) >= 0.98 * limit).mean(0)
    reached = share > 0.01
    if not reached.any():
        return []
    joints = tuple(contract.joints[i] for i in np.flatnonzero(reached))
    worst = int(share.argmax())
    return [
        Finding(
            "torque-limit",
            "warning" if share[worst] > 0.5 else "note",
            f"{listed(joints)} {'reach' if len(joints) > 1 else 'reaches'} the torque limit",
            f"{contract.joints[worst]} in {share[worst]:.0%} of the rows, at {limit[worst]:g} N·m ({source})",
            "at the limit a joint does not follow its target, and the limit is all that can be learned there",
            "gentler commands, or the limit that the motors really have in robot.yaml",
            joints=joints,
        )
    ]


def weight_offset(signals: Signals, legs: Legs) -> np.ndarray:
    """Mean of target - position with which servos carry the robot's weight on all feet alike, (n_joints,)
    rad: J' f / kp.
    """
    contract = signals.contract
    pose = np.array(contract.pose_rad)[None]
    torque = np.zeros(contract.n_joints)
    weight_n = signals.robot.mass_kg * GRAVITY_M_S2 / len(legs.chains)
    down = np.array([[0.0, 0.0, -1.0]])
    for chain in legs.chains:
        for j in chain.joints:
            unit = np.zeros((1, contract.n_joints))
            unit[0, j] = 1.0
            torque[j] -= chain.foot(pose, unit, down)[1][0, 2] * weight_n
    return torque / np.array(contract.kp_nm_per_rad)
