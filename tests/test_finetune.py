"""Fine-tuning in the simulator that a fit found: what is drawn, what is mirrored, what holds the policy,
and resuming.
"""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from policy_files import layers

from surefoot.adapt import Adaptation, Fitted
from surefoot.errors import FitError, PolicyError, SurefootError
from surefoot.learn import checkpoint
from surefoot.learn.env import WalkEnv
from surefoot.learn.finetune import FineTuneSettings, finetune, plan
from surefoot.learn.import_policy import import_policy
from surefoot.learn.loop import Length
from surefoot.learn.mirror import SymmetryAugmentation
from surefoot.learn.ppo import Anchor, Learner
from surefoot.learn.randomize import load_randomization
from surefoot.learn.sample_worlds import asymmetry, world_sampler
from surefoot.learn.task import walk
from surefoot.policy import OnnxPolicy, write_mlp
from surefoot.robot import load_robot
from surefoot.robot.legs import joint_types
from surefoot.sim import Worlds
from surefoot.sim.parameters import PARAMETERS

SMALL = FineTuneSettings(worlds=8, steps=4, epochs=2, minibatches=2, hidden=(16,), critic_first=1, trim_s=0.0, judges=0)
MILD = load_randomization("mild")


def knob(parameter, where, value, low, high, bounds=(0.0, 4.0), flag="") -> Fitted:
    name = f"{parameter}[{' = '.join(where)}]" if where else parameter
    return Fitted(name, parameter, tuple(where), PARAMETERS[parameter].unit, value, value, (low, high), bounds, flag)


def adapted(robot, settings, knobs=(), **provenance) -> Adaptation:
    return Adaptation(robot.name, robot.hash, "static", tuple(knobs), settings, provenance=provenance)


def by_type(robot, value=0.3) -> Adaptation:
    """Dry friction that joints of one kind share, and a delay: left and right are alike."""
    joints = robot.contract.joints
    knobs = [
        knob("dry_friction_nm", [joints[k] for k in places], value, 0.8 * value, 1.3 * value)
        for places in joint_types(robot).values()
    ]
    knobs.append(knob("delay_s", (), 0.004, 0.003, 0.005))
    return adapted(robot, {"dry_friction_nm": [value] * len(joints), "delay_s": 0.004}, knobs)


def one_sided(robot) -> Adaptation:
    """A spring on the first joint."""
    return adapted(robot, {"residual_position_nm_per_rad": {robot.contract.joints[0]: -3.0}})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("policies")


def policy_of(robot, folder, seed=0) -> OnnxPolicy:
    path = folder / f"{robot.name}_{seed}.onnx"
    if not path.exists():
        write_mlp(path, robot.contract, [(0.3 * w, 0.3 * b) for w, b in layers(robot.contract, (12,), seed)], "tanh")
    return OnnxPolicy.load(path)


def small(robot, folder, out, iterations=2, adaptation=None, settings=SMALL, seed_of_policy=0, **options):
    policy = policy_of(robot, folder, seed_of_policy)
    return finetune(
        robot,
        policy,
        adaptation or by_type(robot),
        walk(robot),
        out,
        length=Length(iterations),
        settings=settings,
        **options,
    )


class TestWhatIsDrawn:
    def test_intervals_are_widened_around_the_value_and_cut_at_the_bounds(self, go2):
        joints = go2.contract.joints
        knobs = [
            knob("dry_friction_nm", joints[:1], 0.5, 0.4, 0.7),
            knob("dry_friction_nm", joints[1:2], 0.1, 0.0, 0.2),
            knob("motor_strength", joints[:1], 1.0, 0.9, 1.2, bounds=(0.4, 1.25)),
        ]
        found = world_sampler(adapted(go2, {"dry_friction_nm": 0.5, "motor_strength": 1.0}, knobs), go2, 1.5, MILD)
        assert [(span.low, span.high) for span in found.ranges] == [
            pytest.approx(p) for p in ((0.35, 0.8), (0.0, 0.25), (0.85, 1.25))
        ]
        held = world_sampler(adapted(go2, {"dry_friction_nm": 0.5, "motor_strength": 1.0}, knobs), go2, 0.0, MILD)
        assert all(span.low == span.high for span in held.ranges)

    @pytest.mark.parametrize("flag", ["not identifiable", "no effect"])
    def test_what_the_log_did_not_tell_is_drawn_from_a_plausible_range(self, go2, flag):
        joints = go2.contract.joints
        knobs = [
            knob("dry_friction_nm", joints[:1], 1.0, 0.0, 4.0, flag=flag),
            knob("armature_kgm2", joints[:1], 0.03, 0.001, 0.2, flag=flag),
        ]
        found = world_sampler(adapted(go2, {"dry_friction_nm": 1.0, "armature_kgm2": 0.03}, knobs), go2, 1.5, MILD)
        assert all(span.cut for span in found.ranges)
        assert (found.ranges[0].low, found.ranges[0].high) == pytest.approx((0.75, 1.25))
        assert (found.ranges[1].low, found.ranges[1].high) == pytest.approx((0.02, 0.045))

    def test_every_world_is_another_robot_within_the_spans(self, robot):
        adaptation = by_type(robot)
        found = world_sampler(adaptation, robot, 1.5, MILD)
        worlds, rng = Worlds(robot, 32), np.random.default_rng(0)
        for _ in range(3):  # drawing again does not pile up
            seen = found.draw(worlds, rng)
        assert np.abs(seen).max() <= 1
        friction = worlds.get("dry_friction_nm")
        for span, places in zip(found.ranges, joint_types(robot).values(), strict=False):
            values = friction[:, list(places)]
            assert (values == values[:, :1]).all()  # joints of one knob together
            assert len(np.unique(values[:, 0])) == 32
            assert ((values >= span.low) & (values <= span.high)).all()
        assert (worlds.get("delay_s") == worlds.get("delay_s")[:, :1]).all()

    def test_what_the_fit_set_and_what_it_trades_against_is_not_drawn_from_the_table(self, go2):
        rest = {spread.name for spread in world_sampler(by_type(go2), go2, 1.5, MILD).rest.spreads}
        assert {"floor_friction", "base_mass_kg", "encoder_bias_rad", "gyro_noise_rad_s"} <= rest
        assert not rest & {"dry_friction_nm", "delay_s", "kp_nm_per_rad", "kd_nms_per_rad", "motor_strength"}
        only_mass = world_sampler(
            adapted(go2, {"link_mass_kg": [1.0] * len(Worlds(go2, 1).names("link_mass_kg"))}), go2, 1.5, MILD
        )
        rest = {spread.name for spread in only_mass.rest.spreads}
        assert "base_mass_kg" not in rest
        assert "kp_nm_per_rad" in rest

    def test_torque_noise_shakes_as_much_at_another_rate(self, go2):
        """At larger steps the same white noise is a smaller number: impulses of noise add up like its square root."""
        found = world_sampler(
            adapted(go2, {"torque_noise_nm": 2.0}, physics_hz=500.0), go2, 1.5, load_randomization("none")
        )
        speeds = []
        for hz in (500.0, 250.0):
            worlds = Worlds(go2, 256, physics_hz=hz, hang=True)
            found.draw(worlds, np.random.default_rng(0))
            for _ in range(5):
                worlds.step(np.zeros((256, 12)))
            speeds.append(worlds.joint_velocity_rad_s.std())
        assert worlds.get("torque_noise_nm")[0, 0] == pytest.approx(2 / np.sqrt(2))
        assert speeds[1] == pytest.approx(speeds[0], rel=0.1)

    def test_a_knob_of_a_joint_that_is_not_there(self, go2):
        lost = adapted(go2, {"dry_friction_nm": 0.3}, [knob("dry_friction_nm", ["tail"], 0.3, 0.2, 0.4)])
        with pytest.raises(FitError, match="'tail', which go2 does not have"):
            world_sampler(lost, go2, 1.5, MILD)


class TestSymmetry:
    def reason(self, robot, adaptation) -> str:
        return asymmetry(adaptation, world_sampler(adaptation, robot, 1.5, MILD), robot)

    def test_equal_left_and_right_is_symmetric(self, robot):
        assert self.reason(robot, by_type(robot)) == ""

    def test_one_joint_is_enough_to_be_asymmetric(self, robot):
        first = robot.contract.joints[0]
        said = self.reason(robot, one_sided(robot))
        assert first in said
        assert robot.contract.joints[robot.mirror.index[0]] in said

    def test_angles_turn_in_the_mirror(self, go2):
        hips = np.zeros(12)
        hips[[0, 3]] = 0.02, 0.02
        said = self.reason(go2, adapted(go2, {"encoder_bias_rad": hips.tolist()}))
        assert "encoder_bias_rad differs" in said
        assert "FR_hip_joint 0.02 rad, which is -0.02 in a mirror" in said
        hips[[0, 3]] = 0.02, -0.02
        assert self.reason(go2, adapted(go2, {"encoder_bias_rad": hips.tolist()})) == ""
        assert self.reason(go2, adapted(go2, {"dry_friction_nm": np.abs(hips).tolist()})) == ""

    def test_a_weight_to_the_side(self, go2):
        assert "to the side" in self.reason(go2, adapted(go2, {"base_com_offset_m": [0.0, 0.01, 0.0]}))
        assert self.reason(go2, adapted(go2, {"base_com_offset_m": [0.02, 0.0, -0.01]})) == ""

    def test_ranges_that_differ(self, go2):
        joints = go2.contract.joints
        both = [
            knob("dry_friction_nm", [joints[2]], 0.3, 0.2, 0.4),
            knob("dry_friction_nm", [joints[5]], 0.3, 0.2, 0.4),
        ]
        settings = {"dry_friction_nm": [0.3] * 12}
        assert self.reason(go2, adapted(go2, settings, both)) == ""
        both[1] = replace(both[1], interval=(0.1, 0.4))
        assert "range of dry_friction_nm" in self.reason(go2, adapted(go2, settings, both))

    @pytest.mark.parametrize(("turned", "symmetric"), [(False, False), (True, True)])
    def test_added_functions_are_tried(self, go2, turned, symmetric, monkeypatch):
        """A torque that pushes all hips the same way is not its own image; one that follows the joint is."""
        adaptation = by_type(go2)
        found = world_sampler(adaptation, go2, 1.5, MILD)
        apply = type(found.physics).apply

        def and_more(physics, worlds):
            apply(physics, worlds)
            worlds.residual = (lambda e, p, v: np.tanh(e)) if turned else (lambda e, p, v: np.full(e.shape, 0.5))

        monkeypatch.setattr(type(found.physics), "apply", and_more)
        assert (asymmetry(adaptation, found, go2) == "") is symmetric

    def test_a_robot_without_a_mirror(self, go2):
        assert "declares no left-right symmetry" in self.reason(replace(go2, mirror=None), by_type(go2))

    def test_twice_mirrored_is_the_same(self, robot):
        task = walk(robot)
        found = world_sampler(by_type(robot), robot, 1.5, task.randomization)
        env = WalkEnv(robot, replace(task, randomization=found.rest), 4, draws=found)
        mirror = SymmetryAugmentation(robot, env.mirror_parts())
        obs = env.get_observations()
        once, _ = mirror(None, obs, None)
        twice, _ = mirror(None, once[4:], None)
        torch.testing.assert_close(twice["critic"][4:], obs["critic"])
        knobs = len(found.ranges)
        torch.testing.assert_close(
            once["critic"][4:, -knobs:], obs["critic"][:, -knobs:]
        )  # joints of a kind: the same on both sides

    def test_an_asymmetric_adaptation_turns_mirrored_samples_off(self, go2, folder, tmp_path):
        for name, adaptation, mirrored in (("same", by_type(go2), True), ("other", one_sided(go2), False)):
            said: list[str] = []
            small(go2, folder, tmp_path / name, 1, adaptation, say=said.append)
            config = json.loads((tmp_path / name / "config.json").read_text())
            assert config["ppo"]["symmetry"] is config["provenance"]["mirrored"] is mirrored
            assert sum("mirrored samples" in line for line in said) == 1
        assert any("no mirrored samples" in line and go2.contract.joints[0] in line for line in said)

    def test_switched_off_by_hand(self, go2, folder):
        found = plan(go2, policy_of(go2, folder), by_type(go2), walk(go2), replace(SMALL, mirrored=False))
        assert any("switched off" in line for line in found.says)


class TestFineTuning:
    def test_the_result_is_a_folder_with_everything(self, robot, folder, tmp_path):
        shown, said = [], []
        path = small(robot, folder, tmp_path, show=shown.append, say=said.append)
        policy = OnnxPolicy.load(path)
        policy.refuse_mismatch(robot.contract)
        config = json.loads((tmp_path / "config.json").read_text())
        assert config["policy"] == policy_of(robot, folder).hash
        assert len(config["adaptation"]) == 64
        assert config["provenance"]["drawn"]["delay_s"] == pytest.approx([0.0025, 0.0055])
        assert json.loads(policy.metadata["surefoot.training"]) == config
        assert [p.iteration for p in shown] == [1, 2]
        assert said[0].startswith("the policy's own network")

    def test_it_begins_as_the_old_policy(self, go2, folder, tmp_path):
        """While the critic learns alone nothing has changed, and the exploration is small."""
        shown = []
        path = small(go2, folder, tmp_path, 1, show=shown.append)
        seen = np.random.default_rng(0).normal(size=(100, go2.contract.observation_size)).astype(np.float32)
        np.testing.assert_allclose(OnnxPolicy.load(path).run(seen), policy_of(go2, folder).run(seen), atol=1e-5)
        assert shown[0].off_old < 1e-6
        assert shown[0].action_std == pytest.approx(SMALL.start_std)

    def test_a_critic_that_learns_alone_begins_at_the_height_of_its_values(self, go2):
        env = WalkEnv(go2, walk(go2), 8)
        settings = SMALL.ppo(mirrored=False)
        learner = Learner(
            env.get_observations(), 12, settings, None, anchor=Anchor(lambda obs: torch.zeros(len(obs), 12), 0.2)
        )
        obs = env.get_observations()
        with torch.inference_mode():
            before = learner.critic(obs).mean()
            for _ in range(settings.steps):
                obs, reward, done, extras = env.step(learner.act(obs))
                learner.ppo.process_env_step(obs, reward, done, extras)
            raw = learner.ppo.storage.values.mean()
            learner.compute_returns(obs, critic_only=True)
            after = learner.critic(env.get_observations()).mean()
        height = float(learner.ppo.storage.rewards.mean()) / (1 - settings.gamma)
        assert float(learner.ppo.storage.values.mean()) == pytest.approx(height, rel=1e-4)
        assert float(after - before) == pytest.approx(height - float(raw), abs=0.2)

    def test_then_the_actor_moves_with_its_own_rate(self, go2, folder, tmp_path, monkeypatch):
        rates, shown = [], []
        update = Learner.update
        monkeypatch.setattr(
            Learner, "update", lambda self, only: (rates.append(self.ppo.learning_rate), update(self, only))
        )
        small(go2, folder, tmp_path, 2, show=shown.append)
        assert rates == [SMALL.critic_rate, SMALL.actor_rate]
        assert shown[1].off_old > 1e-5

    def test_an_anchor_holds(self, go2, folder, tmp_path):
        ends = {}
        for weight in (0.0, 30.0):
            settings = replace(
                SMALL, anchor=weight, anchor_end=1.0, desired_kl=1e-9
            )  # the rate soon is the lowest one, with and without
            shown = []
            small(
                go2, folder, tmp_path / str(weight), 6, settings=replace(settings, actor_rate=1e-3), show=shown.append
            )
            ends[weight] = shown[-1].off_old
        assert ends[30.0] < 0.6 * ends[0.0]

    def test_the_anchor_is_let_go(self, go2, folder, tmp_path, monkeypatch):
        weights = []
        update = Learner.update
        monkeypatch.setattr(
            Learner, "update", lambda self, only: (weights.append(self.anchor.mirror_loss_coeff), update(self, only))
        )
        small(go2, folder, tmp_path, 4, settings=replace(SMALL, anchor=0.4, anchor_end=0.5))
        assert weights == pytest.approx([0.4, 0.35, 0.3, 0.25])

    def test_what_is_written_is_the_mean_of_the_last_updates(self, go2, folder, tmp_path, monkeypatch):
        seen: list[torch.Tensor] = []
        update = Learner.update

        def watched(self, only):
            update(self, only)
            seen.append(next(self.actor.mlp.parameters()).detach().clone())

        monkeypatch.setattr(Learner, "update", watched)
        path = small(go2, folder, tmp_path, 4, settings=replace(SMALL, average=10))
        learned = torch.stack(seen[SMALL.critic_first :])
        assert len(learned) == 3
        assert (learned[2] - learned[0]).abs().max() > 1e-5
        written = next(import_policy(OnnxPolicy.load(path), SMALL.hidden).chain.module().parameters())
        torch.testing.assert_close(written, learned.mean(dim=0), atol=1e-6, rtol=1e-5)

    def test_the_same_seed_gives_the_same_policy(self, go2, folder, tmp_path):
        one, two, other = (
            small(go2, folder, tmp_path / name, seed=seed) for name, seed in (("1", 0), ("2", 0), ("3", 1))
        )
        assert one.read_bytes() == two.read_bytes()
        assert one.read_bytes() != other.read_bytes()

    def test_a_policy_that_is_no_chain_is_copied_first(self, go2, folder, tmp_path, monkeypatch):
        import onnx

        monkeypatch.setattr("surefoot.learn.import_policy.TICKS", 5)
        monkeypatch.setattr("surefoot.learn.import_policy.EPOCHS", 1)
        source = onnx.load(policy_of(go2, folder).name)
        source.graph.node.append(onnx.helper.make_node("Abs", ["action"], ["size"]))
        source.graph.output[0].name = "size"
        onnx.save(source, tmp_path / "abs.onnx")
        said, shown = [], []
        options = {"length": Length(1), "settings": SMALL, "say": said.append, "show": shown.append}
        path = finetune(
            go2, OnnxPolicy.load(tmp_path / "abs.onnx"), by_type(go2), walk(go2), tmp_path / "out", **options
        )
        assert "copies the policy" in said[0]
        assert "Abs" in said[0]
        assert any("robot minutes" in line for line in said)
        assert shown[0].off_old > 1e-3  # held to the policy itself, not to the copy
        first = onnx.load(path).graph
        assert [node.op_type for node in first.node] == ["Mul", "Add", "Gemm", "Relu", "Gemm"]
        before = path.read_bytes()
        said.clear()
        finetune(go2, OnnxPolicy.load(tmp_path / "abs.onnx"), by_type(go2), walk(go2), tmp_path / "out", **options)
        assert not any("robot minutes" in line for line in said)  # what was copied is in the checkpoint
        assert path.read_bytes() == before
        finetune(
            go2,
            OnnxPolicy.load(tmp_path / "abs.onnx"),
            by_type(go2),
            walk(go2),
            tmp_path / "out",
            **options | {"length": Length(3)},
        )
        scales = [onnx.numpy_helper.to_array(graph.initializer[0]) for graph in (first, onnx.load(path).graph)]
        assert np.ptp(scales[0]) > 0
        np.testing.assert_array_equal(*scales)  # the mean of several updates has the normalizer of each


class TestResuming:
    def test_the_same_call_continues(self, go2, folder, tmp_path):
        small(go2, folder, tmp_path, 2)
        shown = []
        small(go2, folder, tmp_path, 3, show=shown.append)
        assert [p.iteration for p in shown] == [3]
        before = (tmp_path / "policy.onnx").read_bytes()
        small(go2, folder, tmp_path, 3)
        assert (tmp_path / "policy.onnx").read_bytes() == before

    def test_after_a_kill_it_goes_on_from_the_last_checkpoint(self, go2, folder, tmp_path):
        """What is on the disk in the middle of a run is all that a killed process leaves."""

        def keep(progress, written):
            if progress.iteration == 2:
                written()
                shutil.copytree(tmp_path / "run", tmp_path / "killed")

        small(go2, folder, tmp_path / "run", 4, inspect=keep)
        shown = []
        small(go2, folder, tmp_path / "killed", 4, show=shown.append)
        assert [p.iteration for p in shown] == [3, 4]
        _, state = checkpoint.load(tmp_path / "killed" / "checkpoint.safetensors")
        assert (state["iteration"], state["runs"]) == (4, 2)

    def test_a_time_counts_over_all_runs(self, go2, folder, tmp_path):
        policy, adaptation = policy_of(go2, folder), by_type(go2)

        def run(seconds):
            shown = []
            finetune(
                go2,
                policy,
                adaptation,
                walk(go2),
                tmp_path,
                length=Length(seconds=seconds),
                settings=SMALL,
                show=shown.append,
            )
            return shown

        assert run(1e-4)[-1].iteration == 1  # one iteration takes longer
        assert run(1e-4) == []
        _, state = checkpoint.load(tmp_path / "checkpoint.safetensors")
        assert run(state["elapsed_s"] + 0.3)[0].iteration == 2

    @pytest.mark.parametrize(
        ("what", "says"),
        [
            ({"adaptation": 0.4}, "another adaptation"),
            ({"seed_of_policy": 1}, "another policy"),
            ({"settings": replace(SMALL, anchor=0.7)}, "another finetune.anchor"),
            ({"seed": 3}, "another seed"),
        ],
    )
    def test_another_job_in_the_same_folder_is_refused_unless_it_restarts(self, go2, folder, tmp_path, what, says):
        if "adaptation" in what:
            what = {"adaptation": by_type(go2, what["adaptation"])}
        small(go2, folder, tmp_path, 1)
        with pytest.raises(SurefootError, match=f"{says}.*--restart"):
            small(go2, folder, tmp_path, 1, **what)
        small(go2, folder, tmp_path, 1, restart=True, **what)

    def test_a_restart_that_is_killed_at_once_does_not_bring_the_old_run_back(self, go2, folder, tmp_path, monkeypatch):
        small(go2, folder, tmp_path, 1)
        monkeypatch.setattr("surefoot.learn.finetune.learn", lambda *_, **__: None)
        small(go2, folder, tmp_path, 1, restart=True)
        assert not (tmp_path / "checkpoint.safetensors").exists()

    def test_a_broken_checkpoint_is_refused(self, go2, folder, tmp_path):
        (tmp_path / "checkpoint.safetensors").write_bytes(b"not one")
        with pytest.raises(SurefootError, match=r"not a checkpoint.*--restart"):
            small(go2, folder, tmp_path)


class TestRefused:
    def test_a_policy_of_another_contract(self, go2, folder, tmp_path):
        other = replace(go2, contract=replace(go2.contract, kp_nm_per_rad=(30.0,) * 12))
        policy = policy_of(go2, folder)
        with pytest.raises(PolicyError, match="made for another robot"):
            finetune(other, policy, by_type(go2), walk(go2), tmp_path, length=Length(1), settings=SMALL)

    def test_an_adaptation_of_another_robot(self, go2, folder, tmp_path):
        hexapod = load_robot(__file__.replace("test_finetune.py", "robots/hexapod"))
        with pytest.raises(FitError, match="fitted to another hexapod"):
            small(go2, folder, tmp_path, adaptation=by_type(hexapod))

    @pytest.mark.parametrize(
        "value", [{"spread": -1.0}, {"anchor": float("nan")}, {"anchor_end": 2.0}, {"start_std": 0.0}]
    )
    def test_settings_out_of_range(self, go2, folder, tmp_path, value):
        with pytest.raises(FitError, match=f"{next(iter(value))} is .*must be between"):
            small(go2, folder, tmp_path, settings=replace(SMALL, **value))

    def test_no_time_at_all(self, go2, folder, tmp_path):
        with pytest.raises(FitError, match="at least one iteration"):
            small(go2, folder, tmp_path, 0)
