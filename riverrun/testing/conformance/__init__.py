"""What every connector must pass: crashes at any step, replays, rescales, repeated commits.

``check_source`` and ``check_sink`` drive a connector as the runtime does, in this process and without a
job, so that they can be run against the real system that the connector is for.
"""
