"""When two rows that follow each other are not one control period apart: the same limits for all who ask."""

LOST_ROW_PERIODS = 1.5  # from here on a row was lost between them: one lost row makes 2
SHORT_PERIODS = 0.2  # a shorter step is no control period
PAUSE_PERIODS = 5  # a longer step is a pause: an episode ends in it, and no line is drawn across it
