"""The tables of bench/paper.py: what a cell is, how each is measured, and how the page is written from the
kept figures.

A cell is (row, column, seed) of a table and gives a flat dict of figures. Measuring knows nothing of the page, and the
page is written from the files in bench/results/paper alone.
"""
