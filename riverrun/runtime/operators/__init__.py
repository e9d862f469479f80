"""The live operators, one idea a file; ``table`` says which spec each one runs."""
