"""Everything that crosses a process boundary: elements, frames, control messages and their codecs."""
