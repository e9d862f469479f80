"""Read, change and write the state in savepoints and checkpoints, without running a job."""
