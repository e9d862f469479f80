"""The task and what runs inside it: inputs, chain, operators, outputs. No I/O, no threads, no clock of its own."""
