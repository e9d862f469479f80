"""``sessions`` in a bare loop.

Each visitor has a dict entry with the sessions that are open, mostly one. Once a second of event time those are
taken out that ended before the latest time less the bound.
"""

from typing import Final

from benchmarks.visits import BOUND_MS, GAP_MS, Clicks, click, time_of, visitor_of

_LOOK_MS: Final = 1_000


def sessions(indexes: range) -> list[int]:
    """The clicks of all sessions."""
    clicks = Clicks()
    sessions_of: dict[int, list[list[int]]] = {}
    results: list[int] = []
    look_at = 0
    for index in indexes:
        record = click(index)
        time = time_of(record)
        key = visitor_of(record)
        held = sessions_of.get(key)
        if held is None:
            held = sessions_of[key] = []
        for session in held:
            if session[0] - GAP_MS <= time <= session[1]:
                break
        else:
            session = [time, time + GAP_MS, clicks.create_accumulator()]
            held.append(session)
        session[2] = clicks.add(record, session[2])
        if time < session[0] or time + GAP_MS > session[1]:
            session[0] = min(session[0], time)
            session[1] = max(session[1], time + GAP_MS)
            if len(held) > 1:
                sessions_of[key] = _merged(held, clicks)
        if time > look_at:
            results += _taken_out(sessions_of, time - BOUND_MS, clicks)
            look_at = time + _LOOK_MS
    return results + [clicks.get_result(each[2]) for held in sessions_of.values() for each in held]


def _merged(held: list[list[int]], clicks: Clicks) -> list[list[int]]:
    """The sessions of one visitor, those made one that touch."""
    first, *others = sorted(held)
    result = [first]
    for session in others:
        before = result[-1]
        if session[0] <= before[1]:
            before[1] = max(before[1], session[1])
            before[2] = clicks.merge(before[2], session[2])
        else:
            result.append(session)
    return result


def _taken_out(sessions_of: dict[int, list[list[int]]], now: int, clicks: Clicks) -> list[int]:
    """The results of the sessions that are over, which are gone then."""
    results = []
    for key, held in list(sessions_of.items()):
        open_ones = []
        for session in held:
            if session[1] <= now:
                results.append(clicks.get_result(session[2]))
            else:
                open_ones.append(session)
        if not open_ones:
            del sessions_of[key]
        elif len(open_ones) < len(held):
            sessions_of[key] = open_ones
    return results
