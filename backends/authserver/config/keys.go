package config

import (
	"reflect"
	"strings"
	"time"
)

// Key is an entry of the table: one leaf of the YAML file.
type Key struct {
	// Name is the path of the key, such as server.address.
	Name string
	// Default is the value if neither the file nor the environment sets it, as it would be written in the environment.
	// The empty string means false, 0 or an empty list.
	Default string
	// Env is the environment variable. If it is empty, that is AUTHSERVER_ followed by the name in capitals, with _ in
	// place of each dot. The value "none" means that there is no variable.
	Env string
	// Secret is set if the value must never be shown.
	Secret bool
	// Own is set for a key that is an addition to the contract.
	Own bool
	// Rule describes the meaning of the key and its permitted values.
	Rule string

	check check
	field []int // where the value is in a Config
}

const none = "none"

// Variable returns the name of the environment variable, or "" if there is none.
func (k *Key) Variable() string {
	switch k.Env {
	case "":
		return "AUTHSERVER_" + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
	case none:
		return ""
	}
	return k.Env
}

// at returns a pointer to the value of the key in a configuration, which determines its type.
func (k *Key) at(c *Config) any {
	return reflect.ValueOf(c).Elem().FieldByIndex(k.field).Addr().Interface()
}

// located sets where the value of each key is in a Config: it is the field whose name is that of the key, without
// underscores and in upper or lower case, such as SQLite.Path for sqlite.path. It panics if there is none.
func located(keys []Key) []Key {
	for i := range keys {
		k, kind := &keys[i], reflect.TypeFor[Config]()
		for part := range strings.SplitSeq(strings.ReplaceAll(k.Name, "_", ""), ".") {
			field, ok := kind.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, part) })
			if !ok {
				panic(k.Name + " has no field " + part)
			}
			k.field, kind = append(k.field, field.Index...), field.Type
		}
	}
	return keys
}

// Keys returns the table.
func Keys() []Key { return keys }

var keys = located([]Key{
	{
		Name: "server.address", Default: ":9000", check: listenAddress,
		Rule: "where the public listener listens",
	},
	{
		Name: "server.allow_networks", Own: true, check: networks,
		Rule: "networks (CIDR) that documents and keys of clients, and keys of identity providers, may be fetched from beside public ones; in a Caddyfile the app's `allow_networks` too",
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
		Rule: "who the server is, byte for byte as in tokens and metadata: an http or https URL without a query, a fragment, or a slash at its end",
	},
	{
		Name: "server.read_timeout", Default: "30s", check: positive,
		Rule: "how long reading a request may take",
	},
	{
		Name: "server.shutdown_wait", Default: "10s", check: positive,
		Rule: "how long requests may go on when the server stops or reloads",
	},
	{
		Name: "server.write_timeout", Default: "30s", check: positive,
		Rule: "how long an answer may take",
	},

	{
		Name: "storage.driver", Default: "sqlite", check: oneOf(SQLite, Postgres),
		Rule: "`sqlite` or `postgres`",
	},
	{
		Name: "storage.postgres.dsn", Secret: true, check: required(onPostgres),
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
		Rule: "connections that are kept, at most max_conns",
	},
	{
		Name: "storage.sqlite.path", Default: "data/authserver.db", check: required(onSQLite),
		Rule: "required when driver is `sqlite`",
	},
	{
		Name: "storage.sqlite.wal", Default: "true",
		Rule: "write-ahead log; off, readers wait for the writer",
	},

	{
		Name: "signing.algorithm", Default: "ES256", check: oneOf("ES256", "RS256"),
		Rule: "`ES256` or `RS256`",
	},
	{
		Name: "signing.key_path", Default: "data/keys", check: required(keysInFiles),
		Rule: "key-file directory; required when key_store is `keyfile`",
	},
	{
		Name: "signing.key_store", Default: "keyfile", check: all(oneOf(KeyFile, KMSTransit, PostgresKey), keyStore),
		Rule: "`keyfile`, `kms_transit` or `postgres_key`",
	},
	{
		Name: "signing.postgres_key.encryption_key_env", Env: "AUTHSERVER_SIGNING_PG_ENCRYPTION_KEY_ENV",
		check: masterKey,
		Rule:  "name of the env var holding the key-encryption key; relevant only when data_encryption.driver is `aes_master`",
	},
	{
		Name: "signing.kms_transit.address", Env: "AUTHSERVER_KMS_ADDR", check: required(keysInKMS, address),
		Rule: "key-management server address; required when key_store is `kms_transit`",
	},
	{
		Name: "signing.kms_transit.approle.mount", Default: "approle", Env: "AUTHSERVER_KMS_APPROLE_MOUNT",
		check: required(keysInKMS),
		Rule:  "auth mount",
	},
	{
		Name: "signing.kms_transit.approle.role_id", Env: "AUTHSERVER_KMS_APPROLE_ROLE_ID",
		Rule: "role to log in as; mutually exclusive with token",
	},
	{
		Name: "signing.kms_transit.approle.secret_id", Env: "AUTHSERVER_KMS_APPROLE_SECRET_ID", Secret: true,
		check: required(appRole),
		Rule:  "required when role_id is set",
	},
	{
		Name: "signing.kms_transit.key_name", Default: "authserver-signing", Env: "AUTHSERVER_KMS_TRANSIT_KEY_NAME",
		check: required(keysInKMS),
		Rule:  "name of the signing key",
	},
	{
		Name: "signing.kms_transit.mount", Default: "transit", Env: "AUTHSERVER_KMS_TRANSIT_MOUNT",
		check: required(keysInKMS),
		Rule:  "transit engine mount path",
	},
	{
		Name: "signing.kms_transit.timeout", Default: "10s", Env: "AUTHSERVER_KMS_TIMEOUT", check: positive,
		Rule: "HTTP request timeout",
	},
	{
		Name: "signing.kms_transit.token", Env: "AUTHSERVER_KMS_TOKEN", Secret: true, check: kmsToken,
		Rule: "static token; mutually exclusive with approle",
	},

	{
		Name: "dcr.approved_redirects", check: redirects,
		Rule: "redirect URIs that the mode `approved_redirects` allows, whole",
	},
	{
		Name: "dcr.default_refresh_expiry", Default: "168h", check: positive,
		Rule: "lifetime of a refresh token, from each rotation",
	},
	{
		Name: "dcr.default_token_expiry", Default: "15m", check: positive,
		Rule: "lifetime of an access token",
	},
	{
		Name: "dcr.idle_client_expiry", Default: "4320h", Own: true, check: notNegative,
		Rule: "a client that registered itself, has not come for this long and holds nothing is removed; 0 means never",
	},
	{
		Name: "dcr.mode", Default: "open", check: oneOf(Open, ApprovedRedirects, AdminOnly),
		Rule: "`open`, `approved_redirects`, `admin_only`",
	},
	{
		Name: "dcr.rate_limit", Default: "10", check: positive,
		Rule: "registrations per second of an address",
	},
	{
		Name: "dcr.rate_limit_burst", Default: "20", check: positive,
		Rule: "registrations of an address at once",
	},
	{
		Name: "dcr.unused_client_expiry", Default: "720h", Own: true, check: notNegative,
		Rule: "a client that registered itself and has not come since for this long is removed; 0 means never, however many there are",
	},

	{
		Name: "cimd.allow_private_addresses", Default: "false", check: onlyLocal(true),
		Rule: "turns off address filtering on document fetches (URL check and dial); development only; validation refuses it unless server.issuer is localhost",
	},
	{
		Name: "cimd.cache_ttl", Default: "1h", check: positive,
		Rule: "how long a document is used at most, from 60s",
	},
	{
		Name: "cimd.enabled", Default: "true",
		Rule: "clients known by the URL of their metadata document",
	},
	{
		Name: "cimd.fetch_timeout", Default: "10s", check: positive,
		Rule: "whole time of a fetch",
	},
	{
		Name: "cimd.require_https", Default: "true", check: onlyLocal(false),
		Rule: "false, with an issuer on localhost only: `http` URLs too",
	},

	{
		Name: "session.cookie_name", Default: "authserver_session", check: cookieName,
		Rule: "name of the session cookie",
	},
	{
		Name: "session.fail_closed", Default: "true",
		Rule: "when true a transient user-store lookup error rejects the cookie; when false such errors keep sessions valid",
	},
	{
		Name: "session.max_age", Default: "24h", check: positive,
		Rule: "how long a login lasts",
	},
	{
		Name: "session.passkey_login", Default: "true", Own: true,
		Rule: "whoever has set up a passkey may sign in with it alone, which counts as two factors; `false`: passkeys are second factors only",
	},
	{
		Name: "session.same_site", Default: "lax", check: oneOf("lax", "strict", "none"),
		Rule: "`lax`, `strict`, `none`",
	},
	{
		Name: "session.second_factor", Default: "optional", Own: true, check: oneOf(Optional, Required),
		Rule: "`optional`: who has set up a passkey or an authenticator app is asked for it behind the password; `required`: without one who signs in with a password gets no further than to set one up",
	},
	{
		Name: "session.secret", Secret: true, check: required(public),
		Rule: "required when server.issuer is not localhost",
	},
	{
		Name: "session.secure", Default: "false",
		Rule: "the cookie is sent by https only; always so with same_site `none`",
	},

	{
		Name: "rate_limit.auth_fail_max", Default: "10", check: notNegative,
		Rule: "wrong passwords in the window that lock an identity from an address; 0 means no lockout",
	},
	{
		Name: "rate_limit.auth_fail_window", Default: "10m", check: positive,
		Rule: "counted from the first failure",
	},
	{
		Name: "rate_limit.auth_lockout", Default: "15m", check: positive,
		Rule: "how long a lock lasts",
	},
	{
		Name: "rate_limit.auth_spray_factor", Own: true, Default: "10", check: notNegative,
		Rule: "so many times `auth_fail_max` different identities may fail from one address in the window; one more locks the address for `auth_lockout`; 0 means no address is locked",
	},
	{
		Name: "rate_limit.burst", Default: "200", check: limited,
		Rule: "requests of an address at once; must be greater than zero",
	},
	{
		Name: "rate_limit.enabled", Default: "true",
		Rule: "the limit on requests; the lockout of wrong passwords is there all the same",
	},
	{
		Name: "rate_limit.max_tracked_identities", Default: "250000", check: positive,
		Rule: "bound on identities held by the auth-failure lockout; at the bound an entry that is not locked is evicted to admit a newcomer; locked entries are never evicted; a newcomer is refused only when every tracked identity is locked; each identity is capped at 254 bytes",
	},
	{
		Name: "rate_limit.requests_per_second", Default: "100", Env: "AUTHSERVER_RATE_LIMIT_RPS", check: limited,
		Rule: "per-source-address refill rate; must be greater than zero (validation rejects zero); to switch limiting off set `enabled` false",
	},

	{
		Name: "admin.address", Default: ":9001", check: ownAddress,
		Rule: "where the admin listener listens; without a host, and without admin.api_key, on this machine only",
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
		Rule: "whether there is an admin listener; off, `listener admin` of a Caddyfile serves nothing",
	},
	{
		Name: "admin.requests_per_second", Env: none, check: notNegative,
		Rule: "per-IP rate limit; 0 means no limit",
	},

	{
		Name: "oauth.code_expiry", Default: "60s", Own: true, check: atMost(10 * time.Minute),
		Rule: "lifetime of an authorization code, at most 10m",
	},
	{
		Name: "oauth.default_client_scope", check: scopeWords,
		Rule: "space-separated scope ceiling given to clients created by dynamic registration and by metadata documents, only when all their grants keep a user in the loop; empty means such clients have no ceiling and authorize requests are bounded by the resource catalog only; from v0.3.0 a client without a ceiling is refused with `invalid_scope`; a startup warning and an admin UI notice appear while it is empty and dcr.mode leaves registration open",
	},
	{
		Name: "oauth.form_post", Default: "false", Own: true,
		Rule: "true: applications may ask for `response_mode=form_post`: the browser posts the response to the redirect URI instead of being redirected with it; the metadata documents say so",
	},
	{
		Name: "oauth.require_scope", Default: "true",
		Rule: "true: an authorize request without `scope` fails with `invalid_scope`; false: all scopes registered for the resource are used",
	},
	{
		Name: "oauth.refresh_reuse_grace", Default: "0s", Own: true, check: notNegative,
		Rule: "for this long a refresh token that was used is answered with a new pair, at most 3 times, instead of ending its family; each holder goes on",
	},
	{
		Name: "oauth.state_max_age", Default: "10m", check: positive,
		Rule: "lifetime of the OIDC state cookie (Max-Age) and the freshness window checked at callback",
	},

	{
		Name: "oidc.client_id", check: required(upstream),
		Rule: "required when oidc is enabled",
	},
	{
		Name: "oidc.client_secret", Secret: true, check: oidcSecret,
		Rule: "mutually exclusive with client_secret_ref",
	},
	{
		Name: "oidc.client_secret_env", Env: none, check: oneName,
		Rule: "deprecated earlier name of client_secret_ref, normalized into it at load",
	},
	{
		Name: "oidc.client_secret_ref", Env: none,
		Rule: "env var name holding the secret",
	},
	{
		Name: "oidc.connector_id",
		Rule: "optional upstream connector identifier",
	},
	{
		Name: "oidc.display_name",
		Rule: "login button text",
	},
	{
		Name: "oidc.enabled",
		Rule: "login by an upstream provider",
	},
	{
		Name: "oidc.include_groups_scope", Default: "true",
		Rule: "include the `groups` scope if the upstream supports it",
	},
	{
		Name: "oidc.issuer", check: required(upstream, address),
		Rule: "upstream issuer URL; required when oidc is enabled",
	},
	{
		Name: "oidc.redirect_uri", check: required(upstream, address),
		Rule: "callback redirect URI; required when oidc is enabled",
	},
	{
		Name: "oidc.scopes", Default: "openid, email, profile", check: upstreamScopes,
		Rule: "scopes asked for upstream; must hold `openid`",
	},
	{
		Name: "oidc.show_local_login", Default: "true",
		Rule: "false hides the password form and `POST /login` answers 404",
	},

	{
		Name: "observability.logging.add_source", Env: "AUTHSERVER_LOG_ADD_SOURCE",
		Rule: "adds the place in the source to a line",
	},
	{
		Name: "observability.logging.format", Default: "json", Env: "AUTHSERVER_LOG_FORMAT",
		check: oneOf("json", "text"),
		Rule:  "`json`, `text`",
	},
	{
		Name: "observability.logging.level", Default: "info", Env: "AUTHSERVER_LOG_LEVEL",
		check: oneOf("debug", "info", "warn", "error"),
		Rule:  "`debug`, `info`, `warn`, `error`",
	},
	{
		Name: "observability.logging.outputs.insecure", Env: "AUTHSERVER_LOG_OTEL_INSECURE",
		Rule: "allow insecure gRPC for log export",
	},
	{
		Name: "observability.logging.outputs.otel", Env: "AUTHSERVER_LOG_OTEL",
		Rule: "export logs by OTLP",
	},
	{
		Name: "observability.logging.outputs.otel_endpoint", Env: "AUTHSERVER_LOG_OTEL_ENDPOINT",
		check: required(pushedLogs, collector),
		Rule:  "required when log otel output is on",
	},
	{
		Name: "observability.logging.outputs.stdout", Default: "true", Env: "AUTHSERVER_LOG_STDOUT",
		Rule: "logs to the standard output",
	},
	{
		Name: "observability.metrics.insecure", Env: "AUTHSERVER_METRICS_INSECURE",
		Rule: "allow insecure gRPC for metrics export",
	},
	{
		Name: "observability.metrics.otel_endpoint", Env: "AUTHSERVER_METRICS_OTEL_ENDPOINT",
		check: required(pushedMetrics, collector),
		Rule:  "required when provider is `otel` or `both`",
	},
	{
		Name: "observability.metrics.path", Default: "/metrics", Env: "AUTHSERVER_METRICS_PATH", check: scrapePath,
		Rule: "scrape path",
	},
	{
		Name: "observability.metrics.provider", Default: "prometheus", Env: "AUTHSERVER_METRICS_PROVIDER",
		check: oneOf("prometheus", "otel", "both", "none"),
		Rule:  "`prometheus`, `otel`, `none` (and `both`, which the endpoint rule refers to)",
	},
	{
		Name: "observability.tracing.enabled", Default: "false", Env: "AUTHSERVER_TRACING_ENABLED",
		Rule: "export traces by OTLP",
	},
	{
		Name: "observability.tracing.endpoint", Env: "AUTHSERVER_TRACING_ENDPOINT",
		check: required(traced, collector),
		Rule:  "required when tracing is enabled",
	},
	{
		Name: "observability.tracing.insecure", Env: "AUTHSERVER_TRACING_INSECURE",
		Rule: "allow insecure gRPC for traces",
	},
	{
		Name: "observability.tracing.sample_rate", Default: "1.0", Env: "AUTHSERVER_TRACING_SAMPLE_RATE",
		check: between(0, 1),
		Rule:  "share of requests that are traced, 0 to 1",
	},

	{
		Name: "data_encryption.aes_master.key_env", Env: "AUTHSERVER_DATA_ENCRYPTION_KEY_ENV",
		check: required(sealedByMaster, masterKey),
		Rule:  "name of the env var holding a 64-hex-character (32-byte) master key",
	},
	{
		Name: "data_encryption.aes_master.old_key_env", Env: none, check: all(oldKey, masterKey),
		Rule: "env var name of the previous master key, decrypt-only, for rotation: set both, run re-encrypt, then remove the old one",
	},
	{
		Name: "data_encryption.driver", check: oneOf("", AESMaster, KMSTransitEncrypt),
		Rule: "`aes_master` or `kms_transit_encrypt`",
	},
	{
		Name: "data_encryption.kms_transit_encrypt.address", Env: "AUTHSERVER_DATA_ENCRYPTION_KMS_ADDRESS",
		check: required(sealedByKMS, address),
		Rule:  "required when driver is `kms_transit_encrypt`",
	},
	{
		Name: "data_encryption.kms_transit_encrypt.approle.role_id_env", Env: "AUTHSERVER_DATA_ENCRYPTION_KMS_ROLE_ID_ENV",
		check: required(sealerByAppRole),
		Rule:  "required when auth_method is `approle`",
	},
	{
		Name: "data_encryption.kms_transit_encrypt.approle.secret_id_env", Env: "AUTHSERVER_DATA_ENCRYPTION_KMS_SECRET_ID_ENV",
		check: required(sealerByAppRole),
		Rule:  "required when auth_method is `approle`",
	},
	{
		Name: "data_encryption.kms_transit_encrypt.auth_method", Env: "AUTHSERVER_DATA_ENCRYPTION_KMS_AUTH_METHOD",
		check: required(openedByKMS, oneOf("", "token", "approle")),
		Rule:  "`token` or `approle`",
	},
	{
		Name: "data_encryption.kms_transit_encrypt.key_name", Env: "AUTHSERVER_DATA_ENCRYPTION_KMS_KEY_NAME",
		check: required(openedByKMS),
		Rule:  "required when driver is `kms_transit_encrypt`",
	},
	{
		Name: "data_encryption.kms_transit_encrypt.mount_path", Default: "transit", Env: "AUTHSERVER_DATA_ENCRYPTION_KMS_MOUNT_PATH",
		check: required(openedByKMS),
		Rule:  "transit engine mount path",
	},
	{
		Name: "data_encryption.kms_transit_encrypt.token_env", Env: "AUTHSERVER_DATA_ENCRYPTION_KMS_TOKEN_ENV",
		check: required(sealerByToken),
		Rule:  "env var holding the token",
	},

	{
		Name: "client_credentials.enabled", Default: "true",
		Rule: "the grant `client_credentials`",
	},
	{
		Name: "client_credentials.token_expiry", Default: "1h", check: positive,
		Rule: "machine token TTL",
	},

	{
		Name: "dpop.enabled", Default: "true",
		Rule: "support only: a client that sends no proof still gets a bearer token",
	},
	{
		Name: "dpop.nonce_ttl", Default: "60s", check: positive,
		Rule: "how long a nonce is good",
	},
	{
		Name: "dpop.proof_lifetime", Default: "60s", check: positive,
		Rule: "maximum difference between now and the proof's `iat`",
	},
	{
		Name: "dpop.require_nonce", Default: "false",
		Rule: "when true every proof must carry the server nonce",
	},

	{
		Name: "token_exchange.allow_self_exchange", Default: "false",
		Rule: "a client may exchange its own token for a narrower scope",
	},
	{
		Name: "token_exchange.enabled", Default: "true",
		Rule: "the grant of RFC 8693",
	},
	{
		Name: "token_exchange.max_chain_depth", Default: "5", check: exchanged(between(1, 10)),
		Rule: "required when enabled; 1 to 10",
	},
	{
		Name: "token_exchange.token_expiry", Default: "1h", check: exchanged(positive),
		Rule: "required when enabled",
	},

	{
		Name: "agents.enable_jwks_listing", Default: "false",
		Rule: "lists agents in the JWKS endpoint, which exposes client ids publicly",
	},

	{
		Name: "connect.allowed_return_urls", check: returnURLs,
		Rule: "where a user may be sent back to; an entry that ends in `/*` allows all below it",
	},
	{
		Name: "connect.redirect_base_url", check: address,
		Rule: "base URL for OAuth callbacks",
	},
	{
		Name: "connect.state_secret", Secret: true, check: stateSecret,
		Rule: "HMAC key for state tokens; required, at least 32 characters",
	},

	{
		Name: "xaa.enabled", Default: "true",
		Rule: "the grant of ID-JAG assertions",
	},
	{
		Name: "xaa.jwks_cache_ttl", Default: "1h", check: positive,
		Rule: "how long keys of an identity provider are used",
	},
	{
		Name: "xaa.max_assertion_age", Default: "5m", check: positive,
		Rule: "maximum age of the ID-JAG `iat`",
	},
	{
		Name: "xaa.require_resource", Default: "false",
		Rule: "refuse exchanges that name no resource on the assertion or the request",
	},
	{
		Name: "xaa.subject_mode", Default: "auto_map", check: oneOf(AutoMap, Strict),
		Rule: "`auto_map` or `strict`",
	},
	{
		Name: "xaa.token_expiry", Default: "1h", check: positive,
		Rule: "TTL of XAA access tokens",
	},

	{
		Name: "client_secret_pepper", Secret: true,
		Rule: "when non-empty, client secrets are hashed and verified with HMAC-SHA256 using it; when empty a slow password hash is used; user passwords are not affected",
	},

	{
		Name: "pages.folder", Own: true,
		Rule: "folder with templates and styles that stand in for the built-in pages",
	},
	{
		Name: "pages.language", Default: "en", Own: true, check: languageTags,
		Rule: "language of pages and mails for people who ask for none that there is: `en`, `de`, or one that has a catalogue in `pages.texts`",
	},
	{
		Name: "pages.languages", Own: true, check: languageTags,
		Rule: "languages in which pages and mails are shown, such as `en,de`; empty means English and all that there is a catalogue of",
	},
	{
		Name: "pages.texts", Own: true,
		Rule: "folder with catalogues, such as `de.json`, whose texts stand in for the built-in ones, or that add a language",
	},

	{
		Name: "mail.from", Own: true, check: required(mailing, sender),
		Rule: "who mails are from, such as `Accounts <accounts@example.com>`",
	},
	{
		Name: "mail.password", Own: true, Secret: true,
		Rule: "password at the mail server, if it asks for one",
	},
	{
		Name: "mail.url", Own: true, check: mailServer,
		Rule: "the server that sends mails on: `smtp://host:port`, which needs STARTTLS unless it is this machine, or `smtps://host:port`; without one nobody is mailed, and the pages that need mail are not there",
	},
	{
		Name: "mail.user", Own: true,
		Rule: "name at the mail server, if it asks for one",
	},

	{
		Name: "accounts.deletion_grace", Own: true, check: notNegative,
		Rule: "how long an account is kept whose user has deleted it, such as `336h`: until then they can keep it; 0 means that users cannot delete their accounts",
	},
	{
		Name: "accounts.leaked_passwords", Own: true,
		Rule: "file of passwords that are refused because they have been leaked: their SHA-1 hashes in ascending order, one on each line, as Have I Been Pwned publishes them; it is searched where it is and not read into memory",
	},
	{
		Name: "accounts.password_length", Default: "8", Own: true, check: between(8, 64),
		Rule: "characters that a new password has at least",
	},
	{
		Name: "accounts.registration", Default: "off", Own: true,
		check: all(oneOf(RegistrationOff, RegistrationOpen), registration),
		Rule:  "`off`: the operator makes or invites each user; `open`: whoever confirms a mail address may have an account, which needs `mail.url`",
	},
	{
		Name: "accounts.registration_domains", Own: true, check: mailDomains,
		Rule: "domains that the mail addresses of those who register must have; empty means all",
	},

	{
		Name: "counters.redis_env", Own: true,
		Rule: "name of the env var holding the URL of the Redis or Valkey in which nodes count together what is good once; read by the adapter alone, and without it PostgreSQL keeps that, and on SQLite the memory of the process",
	},
})
