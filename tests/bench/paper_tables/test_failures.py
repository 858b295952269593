"""Logs of which a share fell."""

import pytest
from paper_tables import failures
from paper_tables.cells import Refused

from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin


class TestFailures:
    def test_a_share_of_the_episodes_falls_and_the_gate_cuts_them(self, go2):
        twin = Twin("made", Physics(go2, {"torque_noise_nm": 0.5}))
        log = failures.mixed(twin, 0.25, 3, rollouts=8)
        assert log.n_episodes == 8
        assert failures.fell(log).tolist() == [6, 7]
        usable = failures.usable_rows(log, go2)
        assert not usable[log.gravity[:, 2] > -0.5].any()
        assert usable[log.episode < 6].mean() > 0.9
        with pytest.raises(Refused, match="fell in 6 of 8"):
            failures.usable_rows(failures.mixed(twin, 0.75, 3, rollouts=8), go2)
