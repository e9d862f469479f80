"""Everything that crosses a process boundary: stream elements, frames, control messages and their codecs."""
