"""Noise laws as Gaussian laws of random length: what makes a posterior computable."""

from __future__ import annotations

from dpfda.noise import NoiseLaw, NoiseMixture


def mixture_of(noise: NoiseLaw) -> NoiseMixture | None:
    """The mixture that a noise law says it is, or is close to; None for a law that says none."""
    return noise.mixture()
