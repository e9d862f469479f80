"""What the collect sink hands to a commit."""

from __future__ import annotations

from riverrun.connectors.collect import COMMIT_PIECE, _CommittingWriter


def test_an_epoch_is_committed_in_pieces_of_bounded_size() -> None:
    writer = _CommittingWriter()
    values = list(range(2 * COMMIT_PIECE + 1))
    writer.write_run(values, None)

    pieces = writer.prepare_commit()

    assert [len(piece) for piece in pieces] == [COMMIT_PIECE, COMMIT_PIECE, 1]
    assert [value for piece in pieces for value in piece] == values
    assert writer.prepare_commit() == []
