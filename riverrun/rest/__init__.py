"""HTTP over the dispatcher's gateway: routes, bodies, handlers, OpenAPI."""
