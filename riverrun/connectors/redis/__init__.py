"""Redis: commands out, streams in, and look-ups beside the stream."""
