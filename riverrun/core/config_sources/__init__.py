"""Where settings come from: a file, environment variables, the command line; and which of them counts."""
