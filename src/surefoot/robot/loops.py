"""Closed loops: rods, four-bar knees, parallel ankles, joints that are coupled to others.

A model closes a loop, or couples joints, with <equality>. Motors turn some of its joints (motor space); the others, which
are passive, follow (joint space). Where a motor's joint is put, the passive ones must be put too, or the rods hang loose
and the first step of the simulation tears at them. Their place is found by Gauss-Newton on what the constraints miss,
step by step from the pose in which the model is drawn: so the mechanism stays assembled the way it was. Where that is a
stretched one, from which it can fold either way, the ranges of the passive joints decide.

Either side may be the policy's: `joints` in robot.yaml names motors, or the joints that follow them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from surefoot.errors import RobotError, shown

EQUALITY = int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
CLOSED = 1e-4  # m or rad: what a loop may miss, a tenth of what MuJoCo's soft constraints give way under a robot
EXACT = 1e-10  # where the search ends
LONGEST_STEP_RAD = 0.1  # of the motors between two places that are settled
LONGEST_MOVE = 0.5  # rad or m of a passive joint in one iteration
ITERATIONS = 50
ATTEMPTS = 30  # at a start from elsewhere
OUTSIDE = 0.02  # rad or m that a passive joint may be beyond its range
MOVES = 1e-3  # m or rad: what moves an equality less than this per rad is no part of it
FOLLOWS = 0.01  # a passive joint that turns less than this per rad of a motor does not follow it


@dataclass(frozen=True)
class Follower:
    """A passive joint and how far it moves per rad (or m) of the motors that move it, in the default pose."""

    joint: str
    ratios: tuple[tuple[str, float], ...]


class Loops:
    """The loops of one model, whose policy joints are given and whose passive joints follow."""

    def __init__(self, model: mujoco.MjModel, joints: tuple[str, ...]) -> None:
        self._model, self._data = model, mujoco.MjData(model)
        ids = [model.joint(name).id for name in joints]
        self._qpos, self._dofs = model.jnt_qposadr[ids], model.jnt_dofadr[ids]
        others = [j for j in range(model.njnt) if j not in ids and model.jnt_type[j] != mujoco.mjtJoint.mjJNT_FREE]
        self._passive = others
        self._free = np.concatenate([np.zeros(0, int), *(np.arange(*_span(model, j, "dof")) for j in others)])
        self.passive_qpos = np.concatenate([np.zeros(0, int), *(np.arange(*_span(model, j, "qpos")) for j in others)])
        self.passive_dofs = self._free
        # Of all ways to close a loop, the one in which springs stay at rest: a joint with a spring is that much heavier.
        self._stiffness = model.jnt_stiffness.reshape(model.njnt, -1)[:, 0]
        self._ease = 1.0 / np.sqrt(1.0 + self._stiffness[model.dof_jntid[self._free]])
        self._sprung = [k for k, dof in enumerate(self._free) if self._relaxes(int(model.dof_jntid[dof]))]

    def settle(self, joints: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
        """The whole state (nq,) with the policy joints at `joints`, (n,), and the passive ones where the loops want them.

        `start` is a settled state, (nq,), to come from; without one, the pose in which the model is drawn.
        """
        found = self._follow(joints, self._model.qpos0 if start is None else start)
        if start is not None or self._sound(found):
            return found
        rng = np.random.default_rng(0)  # the same answer every time
        for equalities, passive in self._groups(found):
            for _ in range(ATTEMPTS):
                if self._sound(found, equalities, passive):
                    break
                self._data.qpos[:] = self._anywhere(found, passive, rng)
                self._close()
                if self._sound(self._data.qpos, equalities, passive):
                    found = self._data.qpos.copy()
        return found

    def _follow(self, joints: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Settle step by step on the way from a state, (nq,), to the policy joints at `joints`."""
        data = self._data
        data.qpos[:] = start
        self._close()
        begin = data.qpos[self._qpos].copy()
        steps = max(1, math.ceil(float(np.abs(joints - begin).max()) / LONGEST_STEP_RAD))
        for k in range(1, steps + 1):
            data.qpos[self._qpos] = begin + (joints - begin) * (k / steps)
            self._close()
        return data.qpos.copy()

    def _groups(self, qpos: np.ndarray) -> list[tuple[list[int], list[int]]]:
        """Equalities that share passive joints, and those joints: what can be settled for itself."""
        self._data.qpos[:] = qpos
        _, jacobian, which = self._constraints()
        joint_of = self._model.dof_jntid
        groups: list[tuple[list[int], list[int]]] = []
        for equality in np.unique(which):
            moves = np.abs(jacobian[which == equality]).max(axis=0) > MOVES
            equalities, passive = [int(equality)], [int(j) for j in self._passive if moves[joint_of == j].any()]
            for other in [group for group in groups if set(group[1]) & set(passive)]:
                groups.remove(other)
                equalities, passive = other[0] + equalities, sorted({*other[1], *passive})
            groups.append((equalities, passive))
        return groups

    def _anywhere(self, qpos: np.ndarray, passive: list[int], rng: np.random.Generator) -> np.ndarray:
        """Another start for the search: these joints anywhere in their ranges, springs at rest."""
        model, qpos = self._model, qpos.copy()
        for j in passive:
            place = model.jnt_qposadr[j]
            if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_BALL:
                continue
            if self._stiffness[j] > 0:
                qpos[place] = model.qpos_spring[place]
                continue
            middle = model.qpos0[place]
            qpos[place] = rng.uniform(
                *(model.jnt_range[j] if model.jnt_limited[j] else (middle - math.pi, middle + math.pi))
            )
        return qpos

    def _sound(self, qpos: np.ndarray, equalities: list[int] | None = None, passive: list[int] | None = None) -> bool:
        """Whether loops are closed in a state, with their passive joints inside their ranges; all of them, or some."""
        missed = self.missing(qpos.copy())
        closed = not (missed[slice(None) if equalities is None else equalities] > CLOSED).any()
        return closed and self._outside(qpos, passive) is None

    def _outside(self, qpos: np.ndarray, passive: list[int] | None = None) -> int | None:
        """A passive joint that is beyond its range."""
        model = self._model
        for j in self._passive if passive is None else passive:
            low, high = model.jnt_range[j]
            value = float(qpos[model.jnt_qposadr[j]])
            single = model.jnt_type[j] != mujoco.mjtJoint.mjJNT_BALL
            if single and model.jnt_limited[j] and not low - OUTSIDE <= value <= high + OUTSIDE:
                return j
        return None

    def missing(self, qpos: np.ndarray) -> np.ndarray:
        """What each equality of the model misses in a state, (neq,), m or rad; 0 for one that is not active."""
        self._data.qpos[:] = qpos
        missed, _, which = self._constraints()
        found = np.zeros(self._model.neq)
        np.maximum.at(found, which, np.abs(missed))
        return found

    def motion(self, qpos: np.ndarray) -> np.ndarray:
        """Velocities of all degrees of freedom per velocity of each policy joint, (nv, n_joints)."""
        self._data.qpos[:] = qpos
        _, jacobian, _ = self._constraints()
        motion = np.zeros((self._model.nv, len(self._dofs)))
        motion[self._dofs, np.arange(len(self._dofs))] = 1.0
        if len(self._free):
            inverse = np.linalg.pinv(jacobian[:, self._free] * self._ease, rcond=1e-6)
            motion[self._free] = -self._ease[:, None] * (inverse @ jacobian[:, self._dofs])
        return motion

    def followers(self, joints: tuple[str, ...], qpos: np.ndarray) -> tuple[Follower, ...]:
        """The passive joints that a policy joint moves."""
        motion, found = self.motion(qpos), []
        for j in self._passive:
            ratio = motion[int(self._model.jnt_dofadr[j])]
            moved = tuple((joints[k], float(ratio[k])) for k in np.flatnonzero(np.abs(ratio) > FOLLOWS))
            if moved:
                found.append(Follower(self._model.joint(j).name or f"joint {j}", moved))
        return tuple(found)

    def refuse_open(self, joints: tuple[str, ...], qpos: np.ndarray, path: Path) -> None:
        """Refuse a default pose in which a loop does not close, or only with a passive joint beyond its range."""
        model, missed = self._model, self.missing(qpos)
        for equality in np.flatnonzero(model.eq_active0):
            bodies = self._bodies(int(equality))
            if bodies and 0 in (int(model.body_weldid[body]) for body in bodies):
                raise RobotError(
                    f"{path}: {self._called(int(equality))} ties {shown(model.body(max(bodies)).name)} to the world; a"
                    " robot must be free to walk: remove it"
                )
        worst = int(missed.argmax())
        if missed[worst] > CLOSED:
            raise RobotError(f"{path}: {self._why_open(worst, float(missed[worst]), joints)}")
        if (j := self._outside(qpos)) is not None:
            low, high = model.jnt_range[j]
            raise RobotError(
                f"{path}: in the default pose the loops of the model put the passive joint"
                f" {shown(model.joint(j).name)} at {float(qpos[model.jnt_qposadr[j]]):.4g}, outside its range {low:g} to"
                f" {high:g}; change pose_rad of the joints that move it"
            )

    def _why_open(self, equality: int, missed: float, joints: tuple[str, ...]) -> str:
        model = self._model
        kind = mujoco.mjtEq(model.eq_type[equality])
        what = self._called(equality)
        if bodies := self._bodies(equality):
            ends = " and ".join(shown(model.body(body).name) for body in bodies)
            return (
                f"{what}, between {ends}, does not close in the default pose: its ends stay {1000 * missed:.2g} mm apart"
                " wherever the passive joints are; change pose_rad, or take a joint of the loop out of 'joints', so that"
                " it can follow"
            )
        pair = (int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality]))
        names = [model.joint(j).name for j in pair if kind == mujoco.mjtEq.mjEQ_JOINT and j >= 0]
        both = [name for name in names if name in joints]
        coupled = f"couples {' and '.join(map(shown, names))}" if names else "couples joints"
        way_out = (
            f"take {shown(both[0])} out of 'joints', so that it can follow, or give both poses that agree"
            if len(both) > 1
            else "change pose_rad"
        )
        return f"{what} {coupled}, and the default pose misses it by {missed:.2g}; {way_out}"

    def _called(self, equality: int) -> str:
        return f"the equality {shown(self._model.equality(equality).name or str(equality))} of the model"

    def _bodies(self, equality: int) -> list[int]:
        """The two bodies that a <connect> or <weld> holds together; none for another equality."""
        model = self._model
        if model.eq_type[equality] not in (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD)):
            return []
        ends = [int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])]
        on_sites = model.eq_objtype[equality] == int(mujoco.mjtObj.mjOBJ_SITE)
        return [int(model.site_bodyid[site]) for site in ends] if on_sites else ends

    def _relaxes(self, joint: int) -> bool:
        single = self._model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_BALL
        return bool(self._stiffness[joint] > 0 and single)

    def _close(self) -> None:
        """Gauss-Newton on the passive joints, from where they are; what the loops leave free goes to the springs' rest."""
        model, data = self._model, self._data
        places = model.jnt_qposadr[model.dof_jntid[self._free[self._sprung]]]
        for _ in range(ITERATIONS):
            missed, jacobian, _ = self._constraints()
            scaled = jacobian[:, self._free] * self._ease
            inverse = np.linalg.pinv(scaled, rcond=1e-6)
            relax = np.zeros(len(self._free))
            relax[self._sprung] = (model.qpos_spring[places] - data.qpos[places]) / self._ease[self._sprung]
            move = self._ease * (relax - inverse @ (missed + scaled @ relax))
            largest = float(np.abs(move).max(initial=0.0))
            if largest < EXACT:  # closed, or no passive joint can do anything about it
                return
            velocity = np.zeros(model.nv)
            velocity[self._free] = move * min(1.0, LONGEST_MOVE / largest)
            mujoco.mj_integratePos(model, data.qpos, velocity, 1.0)

    def _constraints(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the equalities miss, (m,), their Jacobian, (m, nv), and which equality each row is of, (m,)."""
        model, data = self._model, self._data
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_tendon(model, data)
        mujoco.mj_makeConstraint(model, data)
        jacobian = np.zeros((data.nefc, model.nv))
        if mujoco.mj_isSparse(model):
            mujoco.mju_sparse2dense(jacobian, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
        else:
            jacobian[:] = data.efc_J.reshape(-1, model.nv)[: data.nefc]
        rows = np.flatnonzero(data.efc_type[: data.nefc] == EQUALITY)
        return data.efc_pos[rows].copy(), jacobian[rows], data.efc_id[rows].astype(int)


def follower_lines(followers: Sequence[Follower], most: int = 8) -> list[str]:
    """One line for each passive joint and the motors that move it, the first few of them."""
    lines = [
        f"{follower.joint} moves " + " + ".join(f"{ratio:.3g} × {name}" for name, ratio in follower.ratios)
        for follower in followers[:most]
    ]
    more = len(followers) - most
    return [*(line.replace("+ -", "- ") for line in lines), *([f"and {more} more"] if more > 0 else [])]


def loops_of(model: mujoco.MjModel, joints: tuple[str, ...]) -> Loops | None:
    """The loops of a model; None where it has none."""
    return Loops(model, joints) if model.neq and model.eq_active0.any() else None


def settle(model: mujoco.MjModel, data: mujoco.MjData, joints: tuple[str, ...]) -> None:
    """Put the passive joints of a state where its policy joints want them; nothing happens in a model without loops."""
    loops = loops_of(model, joints)
    if loops is not None:
        places = model.jnt_qposadr[[model.joint(name).id for name in joints]]
        data.qpos[loops.passive_qpos] = loops.settle(data.qpos[places].copy())[loops.passive_qpos]


def _span(model: mujoco.MjModel, joint: int, what: str) -> tuple[int, int]:
    """First and last + 1 of a joint's places in qpos or in qvel."""
    ball = model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_BALL
    start = int((model.jnt_qposadr if what == "qpos" else model.jnt_dofadr)[joint])
    return start, start + ((4 if what == "qpos" else 3) if ball else 1)
