"""How sure a number is, and a difference: resampling, tests, corrections and power. Only here is scipy used."""

from karat.stats.bootstrap import RESAMPLES, SEED, bca_interval, bootstrap_means

__all__ = ["RESAMPLES", "SEED", "bca_interval", "bootstrap_means"]
