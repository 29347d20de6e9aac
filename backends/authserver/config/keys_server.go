package config

var serverKeys = []Key{
	{
		Name: "server.address", Default: ":9000", check: listenAddress,
		Rule: "address of the public listener",
	},
	{
		Name: "server.allow_networks", Own: true, check: networks,
		Rule: "networks (CIDR), beside the public ones, from which documents and keys of clients and keys of identity providers may be fetched; in a Caddyfile the app's `allow_networks` counts too",
	},
	{
		Name: "server.allowed_origins", check: origins,
		Rule: "CORS origins; empty means no CORS",
	},
	{
		Name: "server.idle_timeout", Default: "120s", check: positive,
		Rule: "how long a connection without a request is kept",
	},
	{
		Name: "server.issuer", Default: "http://localhost:9000", check: issuer,
		Rule: "identifier of the server, exactly as in tokens and metadata: an http or https URL without a query, a fragment or a final slash",
	},
	{
		Name: "server.read_timeout", Default: "30s", check: positive,
		Rule: "how long reading a request may take",
	},
	{
		Name: "server.shutdown_wait", Default: "10s", check: positive,
		Rule: "how long open requests may continue when the server stops or reloads",
	},
	{
		Name: "server.write_timeout", Default: "30s", check: positive,
		Rule: "how long an answer may take",
	},
}

var storageKeys = []Key{
	{
		Name: "storage.driver", Default: "sqlite", check: oneOf(SQLite, Postgres),
		Rule: "`sqlite` or `postgres`",
	},
	{
		Name: "storage.postgres.dsn", Secret: true, check: required(postgresDriver),
		Rule: "required when driver is `postgres`",
	},
	{
		Name: "storage.postgres.max_conn_idle_time", Default: "30m", check: positive,
		Rule: "an idle connection is closed after this time",
	},
	{
		Name: "storage.postgres.max_conn_lifetime", Default: "1h", check: positive,
		Rule: "a connection is closed after this time",
	},
	{
		Name: "storage.postgres.max_conns", Default: "25", check: between(1, 1000),
		Rule: "connections of this process, 1 to 1000",
	},
	{
		Name: "storage.postgres.min_conns", Default: "5", check: keptConns,
		Rule: "connections that are kept open, at most max_conns",
	},
	{
		Name: "storage.sqlite.path", Default: "data/authserver.db", check: required(sqliteDriver),
		Rule: "required when driver is `sqlite`",
	},
	{
		Name: "storage.sqlite.wal", Default: "true",
		Rule: "write-ahead log; without it readers wait for the writer",
	},
}

var rateLimitKeys = []Key{
	{
		Name: "rate_limit.auth_fail_max", Default: "10", check: notNegative,
		Rule: "number of wrong passwords in the window after which an identity is locked for an address; 0 means no lockout",
	},
	{
		Name: "rate_limit.auth_fail_window", Default: "10m", check: positive,
		Rule: "how long failures are counted, from the first one on",
	},
	{
		Name: "rate_limit.auth_lockout", Default: "15m", check: positive,
		Rule: "how long a lock lasts",
	},
	{
		Name: "rate_limit.auth_spray_factor", Own: true, Default: "10", check: notNegative,
		Rule: "an address is locked for `auth_lockout` if more than this number times `auth_fail_max` different identities fail from it in the window; 0 means that no address is locked",
	},
	{
		Name: "rate_limit.burst", Default: "200", check: limited,
		Rule: "number of requests that an address may send at once; must be greater than zero",
	},
	{
		Name: "rate_limit.enabled", Default: "true",
		Rule: "limits the requests of an address; the lockout after wrong passwords does not depend on it",
	},
	{
		Name: "rate_limit.max_tracked_identities", Default: "250000", check: positive,
		Rule: "bound on identities held by the auth-failure lockout; at the bound an entry that is not locked is evicted to admit a newcomer; locked entries are never evicted; a newcomer is refused only when every tracked identity is locked; each identity is capped at 254 bytes",
	},
	{
		Name: "rate_limit.requests_per_second", Default: "100", Env: "AUTHSERVER_RATE_LIMIT_RPS", check: limited,
		Rule: "per-source-address refill rate; must be greater than zero (validation rejects zero); to switch limiting off set `enabled` false",
	},
}

var adminKeys = []Key{
	{
		Name: "admin.address", Default: ":9001", check: ownAddress,
		Rule: "address of the admin listener; without a host and without admin.api_key it listens on this machine only",
	},
	{
		Name: "admin.api_key", Secret: true, check: required(publicAdmin),
		Rule: "required when admin is enabled and server.issuer is not localhost",
	},
	{
		Name: "admin.audit_default_lookback", Default: "24h", check: lookback,
		Rule: "how far back `GET /admin/audit` reaches when `since` is omitted",
	},
	{
		Name: "admin.audit_max_lookback", Default: "720h", check: positive,
		Rule: "furthest back a caller may ask; a request beyond it is rejected, not narrowed",
	},
	{
		Name: "admin.burst", Env: none, check: notNegative,
		Rule: "rate-limiter burst size",
	},
	{
		Name: "admin.enabled", Default: "true",
		Rule: "turns the admin listener on; if it is off, `listener admin` of a Caddyfile serves nothing",
	},
	{
		Name: "admin.requests_per_second", Env: none, check: notNegative,
		Rule: "per-IP rate limit; 0 means no limit",
	},
}

var countersKeys = []Key{
	{
		Name: "counters.redis_env", Own: true,
		Rule: "name of the env var holding the URL of a Redis or Valkey server in which the nodes record what may be used only once; only the adapter reads it; without it PostgreSQL records that, or with SQLite the memory of the process",
	},
}
