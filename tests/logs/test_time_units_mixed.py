"""Time in another unit than seconds: named wherever a log is looked at, and no factor advised where episodes differ."""

import dataclasses
import json

import numpy as np
import pytest

from surefoot.logs import RobotLog, record, write_log
from surefoot.logs.time_unit import in_seconds, trouble_with_time, unit_of_time, units_of_episodes
from surefoot.sim.twin import load_twin

DT_S = 0.02


@pytest.fixture(scope="module")
def log() -> RobotLog:
    return record(load_twin("go2-identified"), "walk", rollouts=4, seconds=3.0, seed=1)


@pytest.fixture(scope="module")
def mixed(log) -> RobotLog:
    """Episodes 2 and 3 in ms."""
    return dataclasses.replace(log, time_s=np.where(log.episode >= 2, 1e3, 1.0) * log.time_s)


class TestMixed:
    def test_no_factor_is_advised(self, mixed):
        assert units_of_episodes(mixed, DT_S) == {None: [0, 1], "ms": [2, 3]}
        assert unit_of_time(mixed, DT_S) is None
        what, way = trouble_with_time(mixed, DT_S)
        assert what.startswith("time is in seconds in 2 episodes (0, 1) and in ms in 2 episodes (2, 3)")
        assert "divide" not in way

    def test_each_episode_by_its_own_unit(self, log, mixed):
        assert np.allclose(in_seconds(mixed, DT_S).time_s, log.time_s, atol=1e-9)

    @pytest.mark.parametrize(
        "words",
        [("log", "show"), ("log", "plot", "--out", "p.html"), ("doctor",), ("gap", "--policy", "walk", "--out", "g")],
    )
    def test_through_the_command_line(self, surefoot, here, mixed, words):
        write_log(mixed, here / "log.parquet")
        _, out, error = surefoot(*words, "log.parquet")
        says = " ".join((out + error).split())
        assert "time is in seconds in 2 episodes (0, 1) and in ms in 2 episodes (2, 3)" in says
        assert "divide the time" not in says

    def test_the_doctor_looks_at_the_rest_as_if_it_had_been_mended(self, surefoot, here, mixed):
        write_log(mixed, here / "log.parquet")
        codes = [finding["code"] for finding in json.loads(surefoot("doctor", "log.parquet", "--json")[1])["findings"]]
        assert codes.count("time-unit") == 1
        assert not {"rate", "delay", "velocity-scale"} & set(codes)

    def test_an_episode_of_two_rows_says_nothing(self, log):
        keep = (log.episode < 3) | (np.arange(len(log.episode)) >= len(log.episode) - 2)
        fields = {
            field.name: value[keep]
            for field in dataclasses.fields(log)
            if isinstance(value := getattr(log, field.name), np.ndarray)
        }
        short = dataclasses.replace(log, **fields)
        time_s = short.time_s * 1e3
        time_s[-1] = time_s[-2] + 0.01
        assert unit_of_time(dataclasses.replace(short, time_s=time_s), DT_S) == "ms"

    def test_time_that_goes_back_has_no_unit(self, log):
        """Its one step ahead is a jump."""
        backward = dataclasses.replace(log, time_s=log.time_s[::-1].copy(), episode=np.zeros_like(log.episode))
        assert trouble_with_time(backward, DT_S) is None

    def test_good_ones(self, log):
        assert trouble_with_time(log, DT_S) is None
        assert in_seconds(log, DT_S) is log


@pytest.mark.parametrize(("unit", "factor"), [("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
class TestOneUnit:
    @pytest.mark.parametrize("robot", [(), ("--robot", "go2")])
    def test_log_plot_says_it_on_the_screen_and_on_the_page(self, surefoot, here, log, unit, factor, robot):
        write_log(dataclasses.replace(log, time_s=log.time_s * factor), here / "log.parquet")
        code, out, _ = surefoot("log", "plot", "log.parquet", "--out", "p.html", *robot)
        assert code == 0
        for text in (out, (here / "p.html").read_text()):
            assert f"time is in {unit}, not in seconds: its numbers are {factor:,.0f} times too large" in text
            assert f"with the time unit {unit}" in text
        assert "(option --time-unit of 'surefoot log import')" in out

    def test_an_import_offers_the_option(self, surefoot, here, log, unit, factor):
        write_log(dataclasses.replace(log, time_s=log.time_s * factor), here / f"{unit}.parquet")
        code, _, error = surefoot("log", "import", f"{unit}.parquet", "--out", "a.parquet")
        assert code == 2
        assert f"give the time unit {unit}" in error
        assert "(option --time-unit)" in error
        assert surefoot("log", "import", f"{unit}.parquet", "--out", "a.parquet", "--time-unit", unit)[0] == 0


def test_a_page_of_a_good_log_says_nothing(surefoot, here, log) -> None:
    write_log(log, here / "log.parquet")
    assert "warning" not in surefoot("log", "plot", "log.parquet", "--out", "p.html")[1]
    assert "time is in" not in (here / "p.html").read_text()
