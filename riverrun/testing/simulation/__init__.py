"""The parts of the simulator; ``riverrun.testing.simulate`` is what tests call."""
