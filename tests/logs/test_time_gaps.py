"""A time gap is one thing: what the doctor reports as lost rows is where the gap cuts a log into pieces."""

import dataclasses

import numpy as np
import pytest
from support.walks import walked

from surefoot.gap.schedule import schedule_of
from surefoot.logs.doctor import check_log
from surefoot.logs.time_gaps import LOST_ROW_PERIODS


@pytest.mark.parametrize(("periods", "lost"), [(LOST_ROW_PERIODS - 0.05, False), (LOST_ROW_PERIODS + 0.05, True)])
def test_the_doctor_and_the_schedule_agree(robot, periods, lost) -> None:
    log = walked(robot, rollouts=4)
    rows, dt_s = log.episodes()[1], robot.contract.control_dt_s
    time_s = np.round(log.time_s / dt_s) * dt_s
    time_s[rows.start + 60 : rows.stop] += (periods - 1) * dt_s
    slow = dataclasses.replace(log, time_s=time_s)
    codes = [finding.code for finding in check_log(slow, robot).findings]
    assert ("time-gap" in codes) == lost
    assert (schedule_of(slow, robot).n > schedule_of(log, robot).n) == lost
