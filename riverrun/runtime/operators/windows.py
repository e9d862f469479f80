"""Which operator runs windows: the most special one that gives the same results."""

from __future__ import annotations

from riverrun.api.window_assigner import MergingWindowAssigner
from riverrun.graph.specs import WindowSpec
from riverrun.runtime.operators.folded_sessions import FoldedSessionOperator
from riverrun.runtime.operators.folded_windows import FoldedWindowOperator, slicing_of
from riverrun.runtime.operators.operator import Operator
from riverrun.runtime.operators.sliced_windows import SlicedWindowOperator
from riverrun.runtime.operators.window import WindowOperator
from riverrun.runtime.operators.window_merging import MergingWindowOperator
from riverrun.runtime.operators.window_runs import RunWindowOperator
from riverrun.runtime.operators.window_sessions import SessionOperator


def build_window_operator(spec: WindowSpec) -> Operator:
    """The operator for ``spec``."""
    if FoldedSessionOperator.can_run(spec):
        return FoldedSessionOperator(spec)
    if SessionOperator.can_run(spec):
        return SessionOperator(spec)
    if isinstance(spec.assigner, MergingWindowAssigner):
        return MergingWindowOperator(spec)
    slicing = slicing_of(spec)
    if slicing is not None:
        return (SlicedWindowOperator if slicing.overlapping else FoldedWindowOperator)(
            spec, slicing
        )
    if RunWindowOperator.can_run(spec):
        return RunWindowOperator(spec)
    return WindowOperator(spec)
