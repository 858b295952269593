"""Verification: a policy and a robot (nominal, or a virtual one) in, figures with counts and a verdict out.

It must not know learning.
"""

from surefoot.verify.evaluate import Evaluation, evaluate
from surefoot.verify.verdict import Effort, Verdict, reach_verdict

__all__ = ["Effort", "Evaluation", "Verdict", "evaluate", "reach_verdict"]
