"""Answers of a fitting problem in a journal."""

import numpy as np

from surefoot.fit.problem import Answer
from surefoot.journal import Journal


def recall_answer(journal: Journal, question: bytes) -> tuple[Answer, float] | None:
    """The next answer and the seconds that it took, if it is known and was given to this question."""
    known = journal.recall(question, "residuals", "cost", "fallen", "influence", "wall_s")
    if known is None:
        return None
    influence_function = known["influence"] if len(known["influence"]) else None
    return Answer(known["residuals"], known["cost"], known["fallen"], influence_function), float(known["wall_s"])


def keep_answer(journal: Journal, question: bytes, answer: Answer, wall_s: float) -> None:
    """Write an answer, whole or not at all."""
    arrays = {
        "residuals": answer.residuals,
        "cost": answer.cost,
        "fallen": answer.fallen,
        "influence": np.zeros(0) if answer.influence_function is None else answer.influence_function,
        "wall_s": np.array(wall_s),
    }
    journal.keep(question, arrays)
