"""PyFlink's modules and names on top of riverrun: ``install()``, then ``import pyflink`` as usual.

``table`` says which object stands for which name; ``names`` knows all of PyFlink's public names, so
that a missing one is told from a misspelt one.
"""

from riverrun.compat.pyflink.modules import install, uninstall

__all__ = ["install", "uninstall"]
