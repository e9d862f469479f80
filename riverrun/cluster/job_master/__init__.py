"""One JobMaster per job: a decision core without I/O (``state``) and the shell around it (``master``)."""
