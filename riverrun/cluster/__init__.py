"""The control plane: job master, job and task state machines, the control server, slots. Never runs user code."""
