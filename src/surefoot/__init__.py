"""Surefoot makes a legged robot's simulator agree with the robot, from ordinary joint logs.

Data flows in one direction: robot -> policy -> sim -> logs. Each package imports from its left only
and says in its own docstring what comes in, what goes out and what it must not know.
"""

__version__ = "0.1.0"
