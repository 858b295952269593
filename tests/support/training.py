"""Trainings that take no time."""

from surefoot.learn.ppo import PPOSettings
from surefoot.learn.randomize import load_randomization
from surefoot.learn.task import walk
from surefoot.learn.train import train

NONE = load_randomization("none")

SMALL = PPOSettings(worlds=16, steps=6, epochs=2, minibatches=2, hidden=(16, 16))


def small_train(robot, out, iterations=2, **options):
    return train(robot, walk(robot), out, settings=SMALL, iterations=iterations, **options)
