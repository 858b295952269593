"""Tasks, built in and from a file."""

import pytest
import torch

from surefoot.errors import TaskError
from surefoot.learn.env import WalkEnv
from surefoot.learn.task import load_task, weighted


class TestTask:
    def test_unknown_reward(self):
        with pytest.raises(TaskError, match="did you mean 'track_velocity'"):
            weighted(track_velocty=1.0)

    def test_a_users_own_task(self, go2, tmp_path):
        file = tmp_path / "mine.py"
        file.write_text(
            "from dataclasses import replace\nfrom surefoot.learn.task import Reward, walk\n"
            "def hop(m):\n    return m.velocity[:, 2]\n"
            "def task(robot):\n    return replace(walk(robot), name='hop', rewards=(Reward(hop, 2.0),))\n"
        )
        task = load_task(str(file), go2)
        assert task.name == "hop"
        env = WalkEnv(go2, task, 4)
        env.step(torch.zeros((4, 12)))
        assert "hop" in env.tally.by_reward

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("x = 1", "no function task"),
            ("def task(robot): return 3", "returned int"),
            ("import nonsense_xyz", "cannot be imported"),
        ],
    )
    def test_bad_task_files(self, go2, tmp_path, text, says):
        (tmp_path / "bad.py").write_text(text)
        with pytest.raises(TaskError, match=says):
            load_task(str(tmp_path / "bad.py"), go2)
