"""Networks that add torque: their files, where they act, and virtual robots that have one."""

import json

import numpy as np
import pytest

from surefoot.adapt import Adaptation, read_adaptation, write_adaptation
from surefoot.adapt.curves import LIMIT_SHARE, groups_of, limit_of
from surefoot.errors import FitError, TwinError
from surefoot.sim import Worlds, load_twin
from surefoot.sim.network import JointGroup, Network, random_net, read_network
from surefoot.sim.physics import Physics
from surefoot.sim.residual import Adds
from surefoot.sim.twin import Twin


def some_network(robot, adds: Adds = "torque", seed: int = 0) -> Network:
    rng = np.random.default_rng(seed)
    groups = []
    for joints in groups_of(robot, per_joint=False).values():
        layers = tuple((rng.normal(0, 0.5, (b, a)), rng.normal(0, 0.3, b)) for a, b in ((3, 8), (8, 4), (4, 1)))
        groups.append(
            JointGroup(tuple(robot.contract.joints[k] for k in joints), layers, limit_of(robot, joints, adds))
        )
    return Network(adds, tuple(groups))


class TestFiles:
    def test_round_trip_in_an_adaptation(self, robot, tmp_path) -> None:
        network = some_network(robot)
        adaptation = Adaptation(robot.name, robot.hash, "residual", (), {"dry_friction_nm": 0.2}, network)
        write_adaptation(tmp_path / "adaptation.json", adaptation)
        again = read_adaptation(tmp_path, robot)
        inputs = np.random.default_rng(5).normal(0, 1, (3, 7, robot.contract.n_joints))
        np.testing.assert_array_equal(again.network.net(robot)(*inputs), network.net(robot)(*inputs))
        assert np.abs(network.net(robot)(*inputs)).max() <= LIMIT_SHARE * max(robot.contract.torque_limit_nm)

    def test_an_adaptation_puts_it_into_worlds(self, robot) -> None:
        moved = []
        for network in (None, some_network(robot), some_network(robot, "action")):
            worlds = Worlds(robot, 2, threads=1)
            Adaptation(robot.name, robot.hash, "x", (), {}, network).physics(robot).apply(worlds)
            worlds.reset()
            for _ in range(5):
                worlds.step(np.zeros((2, robot.contract.n_joints)))
            moved.append(worlds.sensors.joint_position_rad[0])
        assert np.abs(moved[1] - moved[0]).max() > 1e-3
        assert np.abs(moved[2] - moved[0]).max() > 1e-3

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            (lambda d: d.update(adds="heat"), "adds"),
            (lambda d: d["groups"][0].update(joints=["nose"]), "nose"),
            (lambda d: d["groups"][0].update(limit=-1.0), "limit"),
            (lambda d: d["groups"][0]["layers"][0]["bias"].pop(), "layer 0"),
            (lambda d: d["groups"][0]["layers"][1]["weight"][0].__setitem__(0, float("nan")), "layer 1"),
            (lambda d: d["groups"][0]["layers"].pop(), "outputs"),
            (lambda d: d["groups"].append(d["groups"][0]), "twice"),
            (lambda d: d.update(groups=[]), "no groups"),
            (lambda d: d.update(adds=["torque"]), "adds"),
            (lambda d: d["groups"][0]["layers"][0]["bias"].__setitem__(0, 10**400), "layer 0"),
            (lambda d: d["groups"][0]["layers"][0]["bias"].__setitem__(0, 1e300), "layer 0"),
            (lambda d: d["groups"][0]["layers"][0]["bias"].__setitem__(0, True), "layer 0"),
            (lambda d: d["groups"][0]["layers"][1]["weight"].__setitem__(0, [1.0]), "layer 1"),
            (lambda d: d["groups"][0].update(layers="many"), "layers"),
        ],
    )
    def test_bad_files_are_refused_in_a_sentence(self, robot, change, says) -> None:
        content = json.loads(json.dumps(some_network(robot).to_dict()))
        change(content)
        with pytest.raises(FitError, match=says):
            read_network(content, robot, FitError)


class TestTwin:
    def test_a_torque_curve_is_a_spring(self, go2, tmp_path) -> None:
        calves = [joint for joint in go2.contract.joints if "calf" in joint]
        (tmp_path / "curve.yaml").write_text(
            "robot: go2\ntorque_curves:\n- {joints: '*_calf_joint', position_rad: [-4.8, 1.2], torque_nm: [30.0,"
            " -30.0]}\n"
        )
        spring = Twin("spring", Physics(go2, {"residual_position_nm_per_rad": dict.fromkeys(calves, -10.0)}))
        pose = dict(zip(go2.contract.joints, go2.contract.pose_rad, strict=True))
        constant = {joint: -10.0 * (pose[joint] + 1.8) for joint in calves}
        spring = Twin("spring", Physics(go2, {**spring.physics.parameters, "residual_constant_nm": constant}))
        made = [twin.worlds(1, threads=1) for twin in (load_twin(tmp_path / "curve.yaml"), spring)]
        for worlds in made:
            for _ in range(10):
                worlds.step(np.zeros((1, 12)))
        np.testing.assert_allclose(made[0].sensors.joint_position_rad, made[1].sensors.joint_position_rad, atol=1e-9)

    def test_a_network_in_the_file(self, go2, tmp_path) -> None:
        network = some_network(go2)
        (tmp_path / "net.yaml").write_text(json.dumps({"robot": "go2", "network": network.to_dict()}))
        worlds = load_twin(tmp_path / "net.yaml").worlds(1)
        inputs = np.random.default_rng(5).normal(0, 1, (3, 1, 12))
        np.testing.assert_array_equal(worlds.residual(*inputs), network.net(go2)(*inputs))

    @pytest.mark.parametrize(
        "curves",
        [
            "5",
            "[5]",
            "[{joints: '*', position_rad: [0, 1], torque_nm: [0]}]",
            "[{joints: '*', position_rad: [1, 0], torque_nm: [0, 1]}]",
            "[{joints: nose, position_rad: [0, 1], torque_nm: [0, 1]}]",
            "[{joints: '*', position_rad: [0, .nan], torque_nm: [0, 1]}]",
        ],
    )
    def test_bad_curves(self, tmp_path, curves) -> None:
        (tmp_path / "bad.yaml").write_text(f"robot: go2\ntorque_curves: {curves}\n")
        with pytest.raises(TwinError):
            load_twin(tmp_path / "bad.yaml")

    def test_the_hash_knows_them(self, go2) -> None:
        plain = Twin("a", Physics(go2, {}))
        assert (
            len(
                {
                    plain.hash,
                    Twin("a", Physics(go2, network=some_network(go2))).hash,
                    Twin("a", Physics(go2, network=some_network(go2, seed=1))).hash,
                }
            )
            == 3
        )


def test_residual_net_equals_a_plain_loop():
    net = random_net(3, np.array([1.0, 2.0, 3.0]), seed=1)
    rng = np.random.default_rng(0)
    error, position, velocity = (rng.normal(size=(5, 3)) for _ in range(3))
    torque = net(error, position, velocity)
    for world in range(5):
        for joint in range(3):
            x = np.array([error[world, joint], position[world, joint], velocity[world, joint]])
            for weight, bias in zip(net.weights, net.biases, strict=True):
                x = np.tanh(weight[joint] @ x + bias[joint, :, 0])
            assert torque[world, joint] == pytest.approx(net.limit[joint] * x[0], abs=1e-5)
