"""Foundation: ids and times, the clock, configuration with typed options, the error tree, life cycles.

Imports nothing of riverrun above itself.
"""
