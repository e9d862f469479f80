"""Records over HTTP and WebSockets: pages that are fetched, batches that are sent, messages both ways."""
