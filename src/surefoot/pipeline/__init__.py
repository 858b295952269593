"""The steps of the loop as functions on values: a `Case` in, results out, files where a folder is given.

A step resumes after a kill, writes its figures whole or not at all, and says where they come from. It must not know
printing: progress goes to a callback, and pages are drawn by whoever passes `draw`.
"""
