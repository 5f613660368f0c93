"""Measures by name: the grammar of names, parameters, and how a measure is declared and found."""

from karat.registry.measure import Combine, Definition, Effect, LabelRelation, Measure, Subject
from karat.registry.parameters import Help
from karat.registry.registry import definitions, definitions_of, meanings, parse, register

__all__ = [
    "Combine", "Definition", "Effect", "Help", "LabelRelation", "Measure", "Subject",
    "definitions", "definitions_of", "meanings", "parse", "register",
]  # fmt: skip
