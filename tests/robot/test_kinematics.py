import mujoco
import numpy as np
import pytest
from support.odd_robot import odd
from support.robot_files import ALL, changed, tiny

from surefoot.errors import RobotError
from surefoot.robot import Robot, load_robot
from surefoot.robot.kinematics import FootKinematics
from surefoot.robot.load import foot_geoms, joint_addresses
from surefoot.robot.model import lowest_point

HARD = 1e-13  # of the blend between corners: the lowest one alone
ROBOTS = [*(path.name for path in ALL), "odd"]


@pytest.fixture(params=ROBOTS)
def any_robot(request, tmp_path) -> Robot:
    """The shipped robot and those of the tests, and one with every kind of joint and shape."""
    known = {path.name: path for path in ALL}
    return load_robot(known[request.param] if request.param in known else odd(tmp_path))


def states(robot: Robot, n: int, seed: int = 0):
    """Joints anywhere within their limits, at any speed, and gravity from any side."""
    random = np.random.default_rng(seed)
    low, high = np.array(robot.contract.position_limit_rad).T
    position = random.uniform(low, high, (n, len(low)))
    velocity = random.normal(0, 5, position.shape)
    down = random.normal(0, 1, (n, 3)) * [1, 1, 0.5] + [0, 0, -1]
    return position, velocity, down / np.linalg.norm(down, axis=1, keepdims=True)


class Slow:
    """The slow twin: MuJoCo's own kinematics and Jacobian, one robot at a time."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self.model = robot, robot.spec().compile()
        self.data = mujoco.MjData(self.model)
        self.qpos, self.dof = joint_addresses(self.model, robot.contract.joints)
        self.free = self.model.body(robot.base).jntadr[0]

    def put(self, position: np.ndarray, down: np.ndarray) -> np.ndarray:
        """Joints in place, and the base turned so that the world's z axis points against `down`; its rotation."""
        start = self.model.jnt_qposadr[self.free]
        turn = np.zeros(4)
        # R @ down = -z: about the axis down × -z, by the angle between them
        axis = np.cross(down, [0, 0, -1.0])
        size = np.linalg.norm(axis)
        mujoco.mju_axisAngle2Quat(turn, axis / size, np.arctan2(size, -down[2]))
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[self.qpos] = position
        self.data.qpos[start : start + 7] = (0.3, -0.2, 0.5, *turn)
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        matrix: np.ndarray = self.data.xmat[self.model.body(self.robot.base).id].reshape(3, 3).copy()
        return matrix

    def velocity(self, point: np.ndarray, foot: str, velocity: np.ndarray) -> np.ndarray:
        """Of a point of the foot, in the world, while the base rests."""
        jacobian = np.zeros((3, self.model.nv))
        body = self.model.geom_bodyid[foot_geoms(self.model, foot)[0]]
        mujoco.mj_jac(self.model, self.data, jacobian, None, point, body)
        result: np.ndarray = jacobian[:, self.dof] @ velocity
        return result


def test_feet_are_where_mujoco_has_them_and_move_as_its_jacobian_says(any_robot):
    robot, slow = any_robot, Slow(any_robot)
    position, velocity, down = states(robot, 30)
    motion = FootKinematics(robot, blend_m=HARD).lowest(position, velocity, down)
    for row in range(len(position)):
        turn = slow.put(position[row], down[row])
        base = slow.data.xpos[slow.model.body(robot.base).id]
        for i, foot in enumerate(robot.feet):
            point = base + turn @ motion.position_m[:, i, row]
            lowest = min(lowest_point(slow.model, slow.data, geom) for geom in foot_geoms(slow.model, foot))
            rounded = (
                0.05 * 0.08 if foot == "roller" else 1e-10
            )  # the rim of a disc is rounded off: FLAT times its radius
            assert point[2] == pytest.approx(lowest, abs=rounded)
            wanted = turn.T @ slow.velocity(point, foot, velocity[row])
            assert motion.velocity_m_s[:, i, row] == pytest.approx(wanted, abs=1e-10)


def test_the_lowest_point_of_a_ball_is_below_its_centre(robot):
    slow = Slow(robot)
    position, velocity, down = states(robot, 10)
    motion = FootKinematics(robot).lowest(position, velocity, down)
    for row in range(len(position)):
        turn = slow.put(position[row], down[row])
        base = slow.data.xpos[slow.model.body(robot.base).id]
        for i, foot in enumerate(robot.feet):
            (geom,) = foot_geoms(slow.model, foot)
            below = slow.data.geom_xpos[geom] - [0, 0, slow.model.geom_size[geom, 0]]
            assert motion.position_m[:, i, row] == pytest.approx(turn.T @ (below - base), abs=1e-10)


def test_velocities_are_the_change_of_positions(any_robot):
    """A check that knows no Jacobian: the material point that is lowest moves on with its foot."""
    position, velocity, down = states(any_robot, 5)
    kinematics, slow, dt = FootKinematics(any_robot, blend_m=HARD), Slow(any_robot), 1e-6
    motion = kinematics.lowest(position, velocity, down)
    for row in range(5):
        for i, foot in enumerate(any_robot.feet):
            body = slow.model.geom_bodyid[foot_geoms(slow.model, foot)[0]]
            turn = slow.put(position[row], down[row])
            base = slow.data.xpos[slow.model.body(any_robot.base).id].copy()
            point = base + turn @ motion.position_m[:, i, row]
            inside = slow.data.xmat[body].reshape(3, 3).T @ (point - slow.data.xpos[body])
            slow.put(position[row] + velocity[row] * dt, down[row])
            later = slow.data.xpos[body] + slow.data.xmat[body].reshape(3, 3) @ inside
            moved = turn.T @ (later - point) / dt
            assert motion.velocity_m_s[:, i, row] == pytest.approx(moved, abs=3e-4)


def test_a_robot_has_the_same_bits_alone_and_beside_others(any_robot):
    position, velocity, down = states(any_robot, 67)
    kinematics = FootKinematics(any_robot)
    together = kinematics.lowest(position, velocity, down)
    for row in (0, 1, 33, 66):
        alone = kinematics.lowest(*(array[row : row + 1] for array in (position, velocity, down)))
        assert np.array_equal(alone.position_m[..., 0], together.position_m[..., row])
        assert np.array_equal(alone.velocity_m_s[..., 0], together.velocity_m_s[..., row])
    strided = kinematics.lowest(*(array[::3] for array in (position, velocity, down)))
    assert np.array_equal(strided.velocity_m_s, together.velocity_m_s[..., ::3])


def test_a_flat_sole_touches_in_its_middle_and_a_tilted_one_at_its_edge():
    biped = load_robot(ALL[2])
    model = biped.spec().compile()
    (geom,) = foot_geoms(model, biped.feet[0])
    flat = np.array([biped.contract.pose_rad])
    kinematics, still = FootKinematics(biped), np.zeros_like(flat)
    slow = Slow(biped)
    turn = slow.put(flat[0], np.array([1e-9, 0, -1.0]))
    centre = slow.data.geom_xpos[geom] - slow.data.xpos[slow.model.body(biped.base).id]
    level = kinematics.lowest(flat, still, np.array([[0, 0, -1.0]])).position_m[:, 0, 0]
    assert level[:2] == pytest.approx((turn.T @ centre)[:2], abs=1e-6)
    nose_down = np.array([[0.1, 0, -1.0]]) / np.hypot(0.1, 1)
    tilted = kinematics.lowest(flat, still, nose_down).position_m[:, 0, 0]
    assert tilted[0] > level[0] + 0.9 * model.geom_size[geom, 0]


def test_joints_that_the_contract_does_not_name_stay_where_the_model_has_them(tmp_path):
    """A locked knee: the foot is where it is with the knee at the model's zero."""
    biped = load_robot(ALL[2])
    keep = [name for name in biped.contract.joints if "Knee" not in name]
    pose = dict.fromkeys(keep, 0.0)
    locked = load_robot(
        changed(
            tmp_path / "locked", ALL[2], joints=keep, pose_rad=pose, kp_nm_per_rad=80, symmetry=None, base_height_m=0.7
        )
    )
    position, velocity, down = states(locked, 4)
    full = np.zeros((2, 4, 10))
    where = [biped.contract.joints.index(name) for name in keep]
    full[0][:, where], full[1][:, where] = position, velocity
    one, other = (
        FootKinematics(locked).lowest(position, velocity, down),
        FootKinematics(biped).lowest(full[0], full[1], down),
    )
    assert one.position_m == pytest.approx(other.position_m, abs=1e-12)
    assert one.velocity_m_s == pytest.approx(other.velocity_m_s, abs=1e-12)


def test_the_imu_may_be_turned(tmp_path, go2):
    assert FootKinematics(go2).imu_rotation is None
    turned = FootKinematics(load_robot(odd(tmp_path))).imu_rotation
    assert turned @ turned.T == pytest.approx(np.eye(3))
    assert not np.allclose(turned, np.eye(3))


def test_leg_heights_are_those_of_the_default_pose():
    hexapod, biped = load_robot(ALL[1]), load_robot(ALL[2])
    assert FootKinematics(hexapod).leg_m == pytest.approx(hexapod.base_height_m)
    assert FootKinematics(biped).leg_m == pytest.approx(
        biped.base_height_m - 0.06
    )  # the hip is that far below the base


def test_a_foot_that_is_not_on_the_base_is_refused(tmp_path):
    crate = '<body name="crate" pos="1 0 1"><freejoint/><geom name="crate" type="box" size=".1 .1 .1"/></body>'
    path = tiny(tmp_path, extra=f"<worldbody>{crate}</worldbody>")
    path.write_text(path.read_text().replace("[left_leg, right_leg]", "[left_leg, crate]"))
    with pytest.raises(RobotError, match="'crate' does not hang on the base 'box'"):
        FootKinematics(load_robot(path))
