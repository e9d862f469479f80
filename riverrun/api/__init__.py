"""The contracts users implement or pass: functions, contexts, sources, sinks, output tags, watermark strategies."""
