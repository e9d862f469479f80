"""Bodies of requests and answers, field for field as Flink's REST interface has them."""
