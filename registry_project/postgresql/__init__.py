"""Django's PostgreSQL backend, with an embedded server and a liveness check that costs no round trip."""
