"""Jobs that come from other processes: what is sent, where their files are kept, how values go back."""
