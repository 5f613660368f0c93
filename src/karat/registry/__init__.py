"""Measures by name: the grammar of names, parameters, and how a measure is declared and found."""

from karat.registry.measure import Combine, Definition, Effect, Measure
from karat.registry.parameters import Help
from karat.registry.registry import Subject, definitions, definitions_of, meanings, parse, register

__all__ = [
    "Combine", "Definition", "Effect", "Help", "Measure", "Subject",
    "definitions", "definitions_of", "meanings", "parse", "register",
]  # fmt: skip
