"""The only package that knows Spark.

``driver``: session, slots, pipelined job. ``worker``: the mapInArrow body that hosts a task.
"""
