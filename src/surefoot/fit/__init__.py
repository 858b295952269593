"""Fitting: a log and a family of changes in, the change that closes the gap out, with intervals and what
cannot be told.

It must not know learning.
"""
