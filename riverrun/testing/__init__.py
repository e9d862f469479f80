"""The public test kit: a simulator for programs, a store that fails, leak checks, processes, clusters."""
