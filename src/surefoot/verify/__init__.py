"""Verification: a policy and a robot (nominal, or a virtual one) in, figures with counts and a verdict out.

It must not know learning.
"""

from surefoot.verify.evaluate import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]
