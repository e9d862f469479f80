"""The Spark worker side: the body of a stage, its reader thread, mailbox and control connection."""
