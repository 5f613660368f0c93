"""Measures by name: the grammar of names, parameters, and how a measure is declared and found.

`nDCG(gain=exp)@10` is the name in code, on the command line, in tables and in files. `names.py` defines the grammar,
and `parse(str(measure)) == measure`. Names may come from files, so parsing takes time proportional to the length, and
names of more than 1,000 characters are refused. The measures of the last 1,024 names are remembered, until another
measure is registered: a program that evaluates two queries at a time would otherwise spend most of its time on names.
The names of other tools are accepted everywhere. The parameters of a measure are read from the signature of its
function, so nothing has to be declared twice.
"""

from karat.registry.measure import Combine, Definition, Effect, LabelRelation, Measure, Subject
from karat.registry.parameters import Help
from karat.registry.registry import definitions, definitions_of, meanings, parse, register

__all__ = [
    "Combine", "Definition", "Effect", "Help", "LabelRelation", "Measure", "Subject",
    "definitions", "definitions_of", "meanings", "parse", "register",
]  # fmt: skip
