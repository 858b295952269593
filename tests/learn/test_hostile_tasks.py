"""A task file is somebody's own program: whatever it raises or returns, one sentence names it."""

import dataclasses
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from surefoot.errors import TaskError
from surefoot.learn.randomize import Randomization, Spread
from surefoot.learn.rise import Rise
from surefoot.learn.starts import Shares
from surefoot.learn.task import Reward, Task, load_task, walk, weighted
from surefoot.learn.task_fields import refuse_nonsense, task_fields
from surefoot.robot import Posture

HEAD = "import dataclasses\nimport numpy as np\nfrom surefoot.learn.task import *\n"
RAISING = [
    ("class X(BaseException): pass\nraise X('boo')", "cannot be imported: X: boo, in its line 2"),
    ("raise GeneratorExit", "cannot be imported: GeneratorExit, in its line 1"),
    ("def (", "cannot be imported: SyntaxError: .*, in its line 1$"),
    ("x = 1\n\nif x:\ny = 2\n", "cannot be imported: IndentationError: .*, in its line 4$"),
    ("import numpy\nnumpy.zeros(3).reshape(2, 2)", "cannot be imported: ValueError: .*, in its line 2$"),
    ("class X(Exception):\n    def __str__(self): raise ValueError\nraise X", "cannot be imported: X, in its line 3"),
    ("class X(BaseException): pass\ndef task(robot): raise X('boo')", "raised X: boo, in its line 2"),
    ("import numpy\ndef task(robot):\n    numpy.zeros(3).reshape(2)", "raised ValueError: .*, in its line 3$"),
]


@pytest.mark.parametrize(("text", "says"), RAISING)
def test_a_file_that_raises(tmp_path, go2, text, says) -> None:
    (tmp_path / "t.py").write_text(text)
    with pytest.raises(TaskError, match=says):
        load_task(str(tmp_path / "t.py"), go2)


def test_an_interrupt_stays_one(tmp_path, go2) -> None:
    (tmp_path / "t.py").write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_task(str(tmp_path / "t.py"), go2)


FIELDS: list[tuple[str, object]] = [
    ("name", None),
    ("name", ""),
    ("name", "x" * 1000),
    ("rewards", None),
    ("rewards", ()),
    ("rewards", (len,)),
    ("rewards", (Reward(len, float("nan")),)),  # type: ignore[arg-type]
    ("rewards", (Reward(None, 1.0),)),
    ("command_range", None),
    ("command_range", (("0", "1"),) * 3),
    ("command_range", ((1, 0),) * 3),
    ("command_range", np.zeros((3, 2))),
    ("randomization", None),
    ("randomization", "mild"),
    ("randomization", Randomization("x", push_m_s=-1)),
    ("randomization", Randomization("x", push_every_s=0)),
    ("randomization", Randomization("x", (Spread("nothing", "set", 0, 1),))),
    ("randomization", Randomization("x", (Spread("delay_s", "set", 1, 0),))),
    ("episode_s", 1e-9),
    ("episode_s", 1e300),
    ("episode_s", "x"),
    ("command_hold_s", 5),
    ("command_hold_s", (5, -1)),
    ("command_hold_s", (5, 1)),
    ("command_hold_s", (0, 0)),
    ("standing_share", 7),
    ("standing_share", True),
    ("straight_share", -0.1),
    ("fallen_gravity_z", "x"),
    ("fallen_gravity_z", float("nan")),
    ("fallen_height", 2),
    ("fall_cost", 1e300),
    ("start_spread_rad", 10),
    ("posture", None),
    ("posture", Posture(name="x", pitch_rad=1.0, rise_s=1.0, pose_rad=(0.0,))),
    ("posture", Posture(name="x", feet=("nobody",))),
    ("starts", None),
    ("starts", Shares(0.9, 0.9)),
    ("starts", Shares(-1, 0)),
    ("rise", 3),
    ("rise", Rise(0.0, ((0.0,),))),
    ("learning", None),
    ("learning", [("epochs", 1)]),
    ("teacher", "nobody"),
    ("teacher", 5),
    ("substeps", 0.5),
    ("substeps", 0),
    ("substeps", 10**9),
    ("substeps", np.int64(4)),  # no JSON has a word for it
]


@pytest.mark.parametrize(("name", "value"), FIELDS)
def test_each_field(go2, name, value) -> None:
    with pytest.raises(TaskError, match=rf"^{name} of t\.py is .*; it must be ") as caught:
        refuse_nonsense(dataclasses.replace(walk(go2), **{name: value}), go2, "t.py")
    assert len(str(caught.value)) < 500


def test_no_field_is_forgotten(go2) -> None:
    names = {field.name for field in dataclasses.fields(Task)}
    assert set(task_fields(go2)) == names
    assert {name for name, _ in FIELDS} == names


@pytest.mark.parametrize(
    ("learning", "says"),
    [
        ({"epochs": "x"}, r"learning\['epochs'\] of t\.py is 'x'; it must be a whole number above 0"),
        ({"epochs": 0}, "whole number above 0"),
        ({"worlds": 2.5}, "whole number above 0"),
        ({"nothing": 1}, "asks for 'nothing' of PPO"),
        ({3: 1}, "asks for 3 of PPO"),
        ({"gamma": 1.5}, "from 0 to 1"),
        ({"learning_rate": float("nan")}, "above 0"),
        ({"hidden": 128}, "a tuple of whole numbers"),
        ({"activation": "none"}, "one of relu"),
        ({"symmetry": "yes"}, "True or False"),
        ({"average": -1}, "whole number from 0 on"),
        ({"entropy": -1}, "number from 0 on"),
    ],
)
def test_settings_of_ppo(go2, learning, says) -> None:
    with pytest.raises(TaskError, match=says):
        refuse_nonsense(dataclasses.replace(walk(go2), learning=learning), go2, "t.py")


def test_what_ships_is_good(robot) -> None:
    refuse_nonsense(walk(robot), robot, "walk")
    learning: dict[str, Any] = {"start_std": 0.4, "worlds": 512, "epochs": 2, "hidden": (64, 64)}
    mild = dataclasses.replace(walk(robot), learning=learning)
    refuse_nonsense(mild, robot, "walk")


def test_a_task_on_two_legs_is_good(go2) -> None:
    refuse_nonsense(load_task("biped", go2), go2, "biped")


@pytest.mark.parametrize(
    ("returned", "weight", "says"),
    [
        (np.ones(4) * 1j, 1.0, "must return one number for each of the 4 robots"),
        (np.array(["x"] * 4), 1.0, "must return one number for each of the 4 robots"),
        (np.full(4, 1e308), 1e308, r"is 1e\+308 for 4 of 4 robots"),
        (np.array([0, np.inf, 0, 0]), 1.0, "is inf for 1 of 4 robots"),
        (np.array([0, np.nan, 0, 0]), 1.0, "is nan for 1 of 4 robots"),
    ],
)
def test_what_a_reward_returns(returned, weight, says) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TaskError, match=says):
            Reward(lambda motion: returned, weight).of(None, 4)


def test_a_reward_that_raises_no_exception() -> None:
    class Boo(BaseException):
        pass

    def bad(motion):
        raise Boo("boo")

    with pytest.raises(TaskError, match=r"the reward bad raised Boo: boo, in its line \d+"):
        Reward(bad, 1.0).of(None, 4)


@pytest.mark.parametrize("values", [[1, 2, 3, 4], [True, False, True, False], np.ones(4, np.float32)])
def test_good_values(values) -> None:
    assert Reward(lambda motion: values, -1e-7).of(None, 4).dtype == float


def test_rewards_by_name() -> None:
    assert [reward.name for reward in weighted(tilt=-1.0)] == ["tilt"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("def task(r): return dataclasses.replace(walk(r), standing_share=7)", "standing_share of t.py is 7"),
        (
            "def bad(m): return np.full(4, 1e308)\n"
            "def task(r): return dataclasses.replace(walk(r), rewards=(Reward(bad, 1e308),))",
            "the reward bad is 1e+308",
        ),
    ],
)
def test_through_the_command_line(surefoot, here, body, says) -> None:
    (here / "t.py").write_text(f"{HEAD}{body}\n")
    code, _, error = surefoot("train", "t.py", "--out", "o", "--iterations", 2, "--worlds", 4, "--no-evaluate")
    assert code == 2
    assert says in error
    assert error.count("\n") == 1
