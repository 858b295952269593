"""What is added to a robot: curves as knobs, a network taught from them, its files, and where it acts."""

import json

import numpy as np
import pytest

from surefoot.adapt import Adaptation, SearchSpace, read_adaptation, with_curves, write_adaptation
from surefoot.adapt.curves import KNOTS, LIMIT_SHARE, groups_of, limit_of
from surefoot.errors import FitError, TwinError
from surefoot.fit.distill import distill
from surefoot.sim import Worlds
from surefoot.sim.network import JointGroup, Network, read_network
from surefoot.sim.physics import Physics
from surefoot.sim.residual import INPUTS, ActionDelta
from surefoot.sim.twin import Twin, load_twin


def seen(robot, rows: int = 200) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    shape = (rows, robot.contract.n_joints)
    pose = np.array(robot.contract.pose_rad)
    return {
        "error": rng.normal(0, 0.1, shape),
        "position": pose + rng.normal(0, 0.2, shape),
        "velocity": rng.normal(0, 3.0, shape),
    }


def some_network(robot, adds: str = "torque", seed: int = 0) -> Network:
    rng = np.random.default_rng(seed)
    groups = []
    for joints in groups_of(robot, per_joint=False).values():
        layers = tuple((rng.normal(0, 0.5, (b, a)), rng.normal(0, 0.3, b)) for a, b in ((3, 8), (8, 4), (4, 1)))
        groups.append(
            JointGroup(tuple(robot.contract.joints[k] for k in joints), layers, limit_of(robot, joints, adds))
        )
    return Network(adds, tuple(groups))


class TestCurves:
    def test_knots_lie_over_what_was_seen_and_share_by_type(self, robot) -> None:
        family = with_curves(SearchSpace(Physics(robot, {}), ()), seen(robot))
        types = groups_of(robot, per_joint=False)
        assert len(family.knobs) == len(types) * (KNOTS["position"] + KNOTS["error"] - 1 + KNOTS["velocity"] - 1)
        assert {knob.entries for knob in family.knobs} == set(types.values())
        one = with_curves(SearchSpace(Physics(robot, {}), ()), seen(robot), per_joint=True)
        assert len(one.knobs) == robot.contract.n_joints / len(types) * len(family.knobs)

    def test_a_joint_that_hardly_moved_has_no_curve(self, robot) -> None:
        still = seen(robot)
        still["position"][:, next(iter(groups_of(robot, False).values()))] = 0.5
        family = with_curves(SearchSpace(Physics(robot, {}), ()), still)
        first = next(iter(groups_of(robot, False).values()))
        assert not [knob for knob in family.knobs if knob.entries == first and INPUTS[knob.input] == "position"]

    def test_batched_and_single_curves_agree_and_are_level_beyond(self, robot) -> None:
        family = with_curves(SearchSpace(Physics(robot, {}), ()), seen(robot))
        turns = np.random.default_rng(1).normal(0, 1.0, (3, len(family.knobs)))
        added = family.curves(turns, pieces=4)
        inputs = np.random.default_rng(2).normal(0, 2.0, (3, 12, robot.contract.n_joints))
        torque = added(*inputs)
        for world in range(12):
            for joint in range(robot.contract.n_joints):
                alone = family.curve_of(turns[world // 4], joint)(inputs[:, world, joint][None])
                np.testing.assert_allclose(torque[world, joint], alone[0], atol=1e-12)
        far = [np.full((12, robot.contract.n_joints), value) for value in (50.0, 100.0)]
        np.testing.assert_allclose(added(far[0], far[0], far[0]), added(far[1], far[1], far[1]))

    def test_nothing_at_rest_of_error_and_velocity(self, robot) -> None:
        """Constants belong to the position's curve alone, or they could not be told apart."""
        family = with_curves(SearchSpace(Physics(robot, {}), ()), seen(robot))
        turns = np.array([[0.0 if INPUTS[knob.input] == "position" else 1.0 for knob in family.knobs]])
        zero = np.zeros((1, robot.contract.n_joints))
        np.testing.assert_allclose(family.curves(turns)(zero, zero, zero), 0.0, atol=1e-12)

    @pytest.mark.parametrize("adds", ["torque", "action"])
    def test_applied_to_worlds(self, robot, adds) -> None:
        family = with_curves(SearchSpace(Physics(robot, {"dry_friction_nm": 0.3}), ()), seen(robot), adds)
        turns = np.zeros((2, len(family.knobs)))
        turns[1] = 1.0
        worlds = Worlds(robot, 4, threads=1)
        family.apply(worlds, turns, 2)
        worlds.reset()
        for _ in range(5):
            worlds.step(np.zeros((4, robot.contract.n_joints)))
        moved = worlds.sensors.joint_position_rad
        np.testing.assert_array_equal(moved[0], moved[1])
        assert np.abs(moved[2] - moved[0]).max() > 1e-3
        assert (worlds.get("dry_friction_nm") == 0.3).all()


class TestDistill:
    @pytest.mark.parametrize(
        "function",
        [
            lambda x: 20 * np.maximum(-1.7 - x[:, 1], 0),
            lambda x: 4 * np.interp(x[:, 0], [-0.3, -0.1, 0.1, 0.3], [-1, 0, 0, 1]) + 0.2 * x[:, 2],
            lambda x: np.zeros(len(x)),
        ],
        ids=["a spring past an angle", "a dead band", "nothing"],
    )
    def test_it_says_the_same_where_the_robot_was(self, function) -> None:
        rng = np.random.default_rng(0)
        inputs = np.stack([rng.normal(0, 0.15, 3000), rng.normal(-1.6, 0.25, 3000), rng.normal(0, 3, 3000)], axis=1)
        layers, off = distill(function, inputs, 11.8)
        size = float(np.sqrt(np.square(function(inputs)).mean()))
        assert off < 0.1 * size + 1e-3
        assert [weight.shape for weight, _ in layers] == [(8, 3), (4, 8), (1, 4)]

    def test_the_same_twice(self) -> None:
        inputs = np.random.default_rng(0).normal(0, 1, (500, 3))
        first, second = (distill(lambda x: np.sin(x[:, 1]), inputs, 5.0, seed=4)[0] for _ in range(2))
        for (a, b), (c, d) in zip(first, second, strict=True):
            np.testing.assert_array_equal(a, c)
            np.testing.assert_array_equal(b, d)

    def test_bounded_whatever_is_asked(self, go2) -> None:
        inputs = np.random.default_rng(0).normal(0, 1, (500, 3))
        layers, _ = distill(lambda x: 100.0 * x[:, 1], inputs, 5.0)
        joint = go2.contract.joints[3]
        net = Network("torque", (JointGroup((joint,), layers, 5.0),)).net(go2)
        torque = net(*(np.repeat(column[:, None], 12, axis=1) for column in inputs.T))
        assert 4.0 < np.abs(torque[:, 3]).max() <= 5.0
        assert not np.delete(torque, 3, axis=1).any()


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


class TestActionDelta:
    def test_linear_terms_move_targets(self, robot) -> None:
        """A share of the error added to the target is a larger gain, at the policy's rate."""
        worlds = Worlds(robot, 2, threads=1)
        worlds.set("delta_error_rad_per_rad", 0.5, ids=np.array([1]))
        plain = Worlds(robot, 1, threads=1)
        plain.action_delta = ActionDelta(lambda error, position, velocity: 0.5 * error, robot.contract)
        for one in (worlds, plain):
            one.reset()
            for k in range(6):
                one.step(np.full((one.n, robot.contract.n_joints), 0.2 * (-1) ** k))
        np.testing.assert_array_equal(worlds.sensors.joint_position_rad[1], plain.sensors.joint_position_rad[0])
        assert np.abs(worlds.sensors.joint_position_rad[1] - worlds.sensors.joint_position_rad[0]).max() > 1e-3


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
