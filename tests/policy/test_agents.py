"""What drives a robot: observations to the last entry, agents, and the built-in trot in plain MuJoCo."""

import dataclasses
from pathlib import Path

import mujoco
import numpy as np
import pytest
from support.policy_files import layers, sensors_of

from surefoot.errors import PolicyError
from surefoot.policy import Observer, OnnxPolicy, PolicyAgent, RandomAgent, TrotAgent, ZeroAgent, make_agent, write_mlp
from surefoot.policy.trot import find_legs, phase_groups
from surefoot.robot import Robot, Sensors, Term
from surefoot.robot.load import joint_addresses


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def walk(go2: Robot, tmp_path: Path) -> Path:
    path = tmp_path / "walk.onnx"
    write_mlp(path, go2.contract, layers(go2.contract))
    return path


class TestObserver:
    def test_layout_of_the_go2(self, go2: Robot, random: np.random.Generator) -> None:
        seen, command, last = sensors_of(random, 3), random.standard_normal((3, 3)), random.standard_normal((3, 12))
        by_hand = np.concatenate(
            [
                0.25 * seen.gyro_rad_s,
                seen.gravity,
                2.0 * command,
                seen.joint_position_rad - go2.contract.pose_rad,
                0.05 * seen.joint_velocity_rad_s,
                last,
            ],
            axis=1,
        )
        observation = Observer(go2.contract, 3).observe(seen, command, last)
        assert observation.dtype == np.float32
        assert np.array_equal(observation, by_hand.astype(np.float32))

    def test_history_is_oldest_first_and_a_reset_fills_it(self, go2: Robot, random: np.random.Generator) -> None:
        terms = (Term("command", 2.0), Term("gyro", 0.5, 3), Term("last_action", 1.0, 2))
        observer = Observer(dataclasses.replace(go2.contract, observation=terms), 2)
        frames = [
            (sensors_of(random, 2), random.standard_normal((2, 3)), random.standard_normal((2, 12))) for _ in range(5)
        ]
        gyro = [0.5 * seen.gyro_rad_s for seen, _, _ in frames]
        last = [action for _, _, action in frames]

        def expected(k: int, robot: int, since: int) -> np.ndarray:
            g = [gyro[max(k - back, since)][robot] for back in (2, 1, 0)]
            a = [last[max(k - back, since)][robot] for back in (1, 0)]
            return np.concatenate([2.0 * frames[k][1][robot], *g, *a]).astype(np.float32)

        for k, frame in enumerate(frames):
            if k == 3:
                observer.reset(np.array([1]))
            observation = observer.observe(*frame)
            assert np.array_equal(observation[0], expected(k, 0, 0))
            assert np.array_equal(observation[1], expected(k, 1, 3 if k >= 3 else 0))
        observer.reset()
        observation = observer.observe(*frames[0])
        assert np.array_equal(observation, [expected(0, 0, 0), expected(0, 1, 0)])

    def test_the_result_is_reused_and_protected(self, go2: Robot, random: np.random.Generator) -> None:
        observer = Observer(go2.contract, 1)
        first = observer.observe(sensors_of(random, 1), np.zeros((1, 3)), np.zeros((1, 12)))
        second = observer.observe(sensors_of(random, 1), np.zeros((1, 3)), np.zeros((1, 12)))
        assert np.shares_memory(first, second)
        with pytest.raises(ValueError, match="read-only"):
            first[0] = 0


class TestAgents:
    def test_names(self, go2: Robot, walk: Path) -> None:
        kinds = {"zero": ZeroAgent, "random": RandomAgent, "trot": TrotAgent, str(walk): PolicyAgent}
        agents = {name: make_agent(name, go2, 2) for name in kinds}
        assert all(isinstance(agents[name], kind) for name, kind in kinds.items())
        assert [agent.label for agent in agents.values()] == ["zero", "random", "trot", "walk"]
        assert len({agent.hash for agent in agents.values()}) == 4
        assert make_agent("random", go2, 2, seed=1).hash != agents["random"].hash
        assert make_agent("trot", go2, 2).hash == agents["trot"].hash

    def test_a_policy_beside_the_robot_goes_by_its_name(self, go2: Robot, walk: Path, tmp_path: Path) -> None:
        (tmp_path / "policies").mkdir()
        walk.rename(tmp_path / "policies" / "stroll.onnx")
        moved = dataclasses.replace(go2, path=tmp_path / "robot.yaml")
        assert make_agent("stroll", moved, 1).label == "stroll"
        with pytest.raises(PolicyError, match=r"did you mean 'stroll'.*zero, random, trot, stroll, or the path"):
            make_agent("strol", moved, 1)
        with pytest.raises(PolicyError, match="does not exist"):
            make_agent("none.onnx", moved, 1)

    def test_same_seed_same_actions(self, go2: Robot, random: np.random.Generator) -> None:
        seen = sensors_of(random, 4)
        one, two, other = (make_agent("random", go2, 4, seed) for seed in (7, 7, 8))
        for _ in range(3):
            action = one.act(seen, np.zeros((4, 3)))
            assert action.shape == (4, 12)
            assert np.array_equal(action, two.act(seen, np.zeros((4, 3))))
            assert not np.array_equal(action, other.act(seen, np.zeros((4, 3))))
        assert not make_agent("zero", go2, 4).act(seen, np.zeros((4, 3))).any()

    def test_a_policy_sees_its_own_clipped_output(
        self, go2: Robot, tmp_path: Path, random: np.random.Generator
    ) -> None:
        contract = dataclasses.replace(go2.contract, action_clip=0.3)
        write_mlp(tmp_path / "p.onnx", contract, layers(contract))
        policy = OnnxPolicy.load(tmp_path / "p.onnx")
        agent = PolicyAgent(policy, dataclasses.replace(go2, contract=contract), 3)
        observer = Observer(contract, 3)
        last, command = np.zeros((3, 12)), random.standard_normal((3, 3))
        for k in range(4):
            if k == 2:
                agent.reset(np.array([0, 2]))
                last[[0, 2]] = 0.0
            seen = sensors_of(random, 3)
            action = agent.act(seen, command)
            raw = policy.run(observer.observe(seen, command, last))
            assert action.dtype == np.float64
            assert np.abs(raw).max() > 0.3
            assert np.array_equal(action, np.clip(raw.astype(float), -0.3, 0.3))
            last = action.copy()
            action[:] = 9.0  # what the caller does with its array is no concern of the agent


def scene(robot: Robot) -> mujoco.MjModel:
    contract, spec = robot.contract, robot.spec()
    spec.option.timestep = 1 / robot.physics_hz
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.05])
    for joint, kp, kd, limit in zip(
        contract.joints, contract.kp_nm_per_rad, contract.kd_nms_per_rad, contract.torque_limit_nm, strict=True
    ):
        motor = spec.add_actuator(
            name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT, forcelimited=True, forcerange=[-limit, limit]
        )
        motor.gainprm[0], motor.biastype, motor.biasprm[1], motor.biasprm[2] = (
            kp,
            mujoco.mjtBias.mjBIAS_AFFINE,
            -kp,
            -kd,
        )
    return spec.compile()


def trot(
    robot: Robot, model: mujoco.MjModel, command: tuple[float, float, float], seconds: float
) -> tuple[np.ndarray, float]:
    """Mean velocity (forward, left, turn) in the base's axes after the first second, and the lowest uprightness."""
    data, agent, contract = mujoco.MjData(model), TrotAgent(robot), robot.contract
    qpos, qvel = joint_addresses(model, contract.joints)
    data.qpos[2], data.qpos[qpos] = robot.base_height_m, contract.pose_rad
    motion, upright = [], 1.0
    for k in range(int(seconds * contract.control_hz)):
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, data.qpos[3:7])
        turn = turn.reshape(3, 3)
        seen = Sensors(
            np.array([data.time]), data.qpos[None, qpos], data.qvel[None, qvel], data.qvel[None, 3:6], -turn[None, 2]
        )
        data.ctrl[:] = contract.pose_rad + contract.action_scale_rad * agent.act(seen, np.array([command]))[0]
        for _ in range(robot.substeps()):
            mujoco.mj_step(model, data)
        upright = min(upright, turn[2, 2])
        if k >= contract.control_hz:
            motion.append([*(turn.T @ data.qvel[:3])[:2], data.qvel[5]])
    return np.mean(motion, axis=0), upright


class TestTrot:
    @pytest.mark.parametrize(
        ("command", "seconds"),
        [
            ((0.5, 0, 0), 10),
            ((-0.5, 0, 0), 3),
            ((0, 0.3, 0), 3),
            ((0, -0.3, 0), 3),
            ((0, 0, 0.8), 3),
            ((0, 0, -0.8), 3),
        ],
    )
    def test_follows_the_command(self, go2: Robot, command: tuple[float, float, float], seconds: float) -> None:
        motion, upright = trot(go2, scene(go2), command, seconds)
        axis = int(np.argmax(np.abs(command)))
        assert upright > 0.9
        assert motion[axis] / command[axis] > 0.4

    @pytest.mark.parametrize("command", [(0.3, 0, 0), (-0.3, 0, 0), (0, 0, 0.6)])
    def test_walks_on_four_legs_and_on_six(self, robot: Robot, command: tuple[float, float, float]) -> None:
        motion, upright = trot(robot, scene(robot), command, 3)
        axis = int(np.argmax(np.abs(command)))
        assert upright > 0.9
        assert motion[axis] / command[axis] > 0.3

    def test_stands_without_a_command(self, go2: Robot, random: np.random.Generator) -> None:
        assert not TrotAgent(go2).act(sensors_of(random, 2, time_s=0.3), np.zeros((2, 3))).any()

    def test_each_robot_has_its_own_time_and_command(self, robot: Robot, random: np.random.Generator) -> None:
        """To the last bit, whoever walks beside it."""
        agent, seen = TrotAgent(robot), sensors_of(random, 8, robot.contract.n_joints)
        seen = dataclasses.replace(seen, time_s=random.uniform(0, 9, 8))
        command = random.uniform(-1, 1, (8, 3))
        together = agent.act(seen, command)
        for k in range(8):
            alone = Sensors(*(getattr(seen, field.name)[k : k + 1] for field in dataclasses.fields(Sensors)))
            np.testing.assert_array_equal(agent.act(alone, command[k : k + 1])[0], together[k])

    def test_legs_of_the_go2(self, go2: Robot) -> None:
        legs = find_legs(go2)
        assert [leg.feet for leg in legs] == [("FL_foot",), ("FR_foot",), ("RL_foot",), ("RR_foot",)]
        assert [leg.joints.tolist() for leg in legs] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]

    def test_neighbours_alternate(self) -> None:
        def groups(*feet: tuple[float, float]) -> list[int]:
            return phase_groups(np.array([[x, y, 0.0] for x, y in feet])).tolist()

        assert groups((0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1)) == [0, 1, 1, 0]
        assert groups((0, 0.1), (0, -0.1)) == [0, 1]
        assert groups((0.3, 1), (0, 1), (-0.3, 1), (0.3, -1), (0, -1), (-0.3, -1)) == [0, 1, 0, 1, 0, 1]
