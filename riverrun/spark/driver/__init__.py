"""The Spark driver side: session and settings, the exchange, submitting and cancelling the job."""
