-- +goose Up
-- Times are Unix microseconds. Lists and objects are JSON. Secrets are sealed or stored as digests; codes, refresh
-- tokens and the like are SHA-256 in base64url.

-- ---- Clients ----

CREATE TABLE authserver_clients (
	id           TEXT {{bytewise}} NOT NULL PRIMARY KEY, -- client_id
	name         TEXT NOT NULL,
	secret       TEXT NOT NULL DEFAULT '', -- the scheme and digest; empty: a public client, or one with a key
	auth_method  TEXT NOT NULL, -- token_endpoint_auth_method
	redirects    TEXT NOT NULL, -- redirect_uris
	grants       TEXT NOT NULL, -- grant_types
	responses    TEXT NOT NULL, -- response_types
	scope        TEXT NOT NULL DEFAULT '', -- the most it may get, words separated by blanks; empty: nothing
	agent        SMALLINT NOT NULL DEFAULT 0,
	agent_text   TEXT NOT NULL DEFAULT '', -- agent_description
	metadata     TEXT NOT NULL DEFAULT '{}', -- the other members of RFC 7591
	status       TEXT NOT NULL, -- active, suspended, revoked
	source       TEXT NOT NULL, -- admin, dcr, cimd
	registration TEXT NOT NULL DEFAULT '', -- digest of the registration access token (RFC 7592)
	issued_at    BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	-- When the metadata document of a client that is known by its URL must be fetched again; 0 for other clients.
	fresh_until  BIGINT NOT NULL DEFAULT 0,
	-- When a client that registered itself last made a request, to the hour; 0: never.
	seen_at      BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX authserver_clients_issued ON authserver_clients (issued_at, id);
CREATE INDEX authserver_clients_documents ON authserver_clients (fresh_until) WHERE source = 'cimd';
CREATE INDEX authserver_clients_seen ON authserver_clients (seen_at, issued_at) WHERE source = 'dcr' AND status = 'active';
-- For lists of the clients of a status or source, and of agents.
CREATE INDEX authserver_clients_status ON authserver_clients (status, issued_at, id) WHERE status <> 'active';
CREATE INDEX authserver_clients_source ON authserver_clients (source, issued_at, id);
CREATE INDEX authserver_clients_agents ON authserver_clients (issued_at, id) WHERE agent = 1;

-- ---- Users: their accounts, factors and sessions ----

CREATE TABLE authserver_users (
	id             TEXT {{bytewise}} NOT NULL PRIMARY KEY, -- sub
	email          TEXT NOT NULL, -- as the user typed it
	email_key      TEXT {{bytewise}} NOT NULL UNIQUE, -- the same for all ways to write the address
	email_verified SMALLINT NOT NULL DEFAULT 0,
	name           TEXT NOT NULL DEFAULT '',
	-- The language of pages and mails that the user has chosen; empty: the browser decides.
	language       TEXT NOT NULL DEFAULT '',
	password       TEXT NOT NULL DEFAULT '', -- a slow hash; empty: no password is accepted
	role           TEXT NOT NULL DEFAULT 'user', -- user, admin
	user_groups    TEXT NOT NULL DEFAULT '[]',
	-- 1: the provider has named the groups of the user. If it then names none, the user has none.
	groups_told    BIGINT NOT NULL DEFAULT 0,
	status         TEXT NOT NULL DEFAULT 'active', -- pending, active, disabled
	-- When the account is deleted because the user asked for it; NULL: it stays.
	delete_at      BIGINT,
	provider       TEXT NOT NULL DEFAULT 'local', -- local, oidc
	issuer         TEXT NOT NULL DEFAULT '', -- the provider of the account, and its name for the user
	subject        TEXT NOT NULL DEFAULT '',
	created_at     BIGINT NOT NULL,
	updated_at     BIGINT NOT NULL
);
CREATE INDEX authserver_users_created ON authserver_users (created_at, id);
CREATE UNIQUE INDEX authserver_users_upstream ON authserver_users (issuer, subject) WHERE subject <> '';
CREATE INDEX authserver_users_pending ON authserver_users (created_at) WHERE status = 'pending';
CREATE INDEX authserver_users_delete ON authserver_users (delete_at) WHERE delete_at IS NOT NULL;

-- Further accounts of users at the upstream providers of the configuration.
CREATE TABLE authserver_identities (
	id          {{id}},
	user_id     TEXT {{bytewise}} NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	issuer      TEXT {{bytewise}} NOT NULL,
	subject     TEXT {{bytewise}} NOT NULL,
	username    TEXT NOT NULL DEFAULT '', -- the name at the provider, shown to the user
	user_groups TEXT NOT NULL DEFAULT '[]', -- those that the provider has named
	created_at  BIGINT NOT NULL,
	used_at     BIGINT NOT NULL DEFAULT 0, -- 0: never
	UNIQUE (issuer, subject)
);
CREATE INDEX authserver_identities_user ON authserver_identities (user_id, id);

-- What the operator says about users, for the claims of applications.
CREATE TABLE authserver_user_facts (
	user_id    TEXT {{bytewise}} NOT NULL PRIMARY KEY REFERENCES authserver_users (id) ON DELETE CASCADE,
	roles      TEXT NOT NULL DEFAULT '[]',
	attributes TEXT NOT NULL DEFAULT '{}' -- lists of values, by name
);

-- The roles of the members of a group.
CREATE TABLE authserver_group_roles (
	group_name TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	roles      TEXT NOT NULL
);

-- Second factors of users.
CREATE TABLE authserver_factors (
	id         TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	user_id    TEXT {{bytewise}} NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	kind       TEXT NOT NULL, -- app, passkey
	name       TEXT NOT NULL,
	secret     TEXT NOT NULL DEFAULT '', -- that of an app, sealed
	step       BIGINT NOT NULL DEFAULT 0, -- that of the last code of an app that was used
	credential TEXT NOT NULL DEFAULT '', -- that of a passkey: its public key and attributes
	handle     TEXT {{bytewise}} NOT NULL DEFAULT '', -- the id of the credential of a passkey
	created_at BIGINT NOT NULL,
	used_at    BIGINT NOT NULL DEFAULT 0 -- 0: never
);
CREATE INDEX authserver_factors_user ON authserver_factors (user_id, created_at);
CREATE UNIQUE INDEX authserver_factors_handle ON authserver_factors (handle) WHERE handle <> '';

-- Recovery codes for users who have lost all their factors. Each is accepted once.
CREATE TABLE authserver_recovery (
	user_id TEXT {{bytewise}} NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	digest  TEXT {{bytewise}} NOT NULL,
	PRIMARY KEY (user_id, digest)
);

-- Counts what is limited by account and address, such as failed logins.
CREATE TABLE authserver_attempts (
	key     TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	tries   BIGINT NOT NULL,
	ends_at BIGINT NOT NULL
);
CREATE INDEX authserver_attempts_ends ON authserver_attempts (ends_at);

-- Links that are mailed to users, and the mails that wait to be sent with them.
CREATE TABLE authserver_links (
	id           {{id}},
	kind         TEXT NOT NULL,
	user_id      TEXT {{bytewise}} NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	email        TEXT NOT NULL,
	secret_hash  TEXT {{bytewise}} UNIQUE, -- NULL: the mail is not sent yet
	expires_at   BIGINT NOT NULL,
	due_at       BIGINT DEFAULT 0, -- when the mail is to be sent; NULL: it is sent
	attempts     BIGINT NOT NULL DEFAULT 0,
	leased_until BIGINT NOT NULL DEFAULT 0,
	-- The language of the page on which the mail was requested.
	language     TEXT NOT NULL DEFAULT ''
);
CREATE INDEX authserver_links_user ON authserver_links (user_id);
CREATE INDEX authserver_links_due ON authserver_links (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX authserver_links_expires ON authserver_links (expires_at);

-- Sessions of browsers.
CREATE TABLE authserver_sessions (
	id           {{id}},
	secret_hash  TEXT {{bytewise}} NOT NULL UNIQUE,
	user_id      TEXT {{bytewise}} NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	created_at   BIGINT NOT NULL,
	seen_at      BIGINT NOT NULL,
	confirmed_at BIGINT NOT NULL, -- when the user signed in: auth_time
	methods      TEXT NOT NULL DEFAULT '', -- amr (RFC 8176); empty: an upstream provider knows
	-- Where the session began, so that the user recognizes it.
	address      TEXT NOT NULL DEFAULT '',
	agent        TEXT NOT NULL DEFAULT '' -- the User-Agent of the browser
);
CREATE INDEX authserver_sessions_user ON authserver_sessions (user_id, id);
CREATE INDEX authserver_sessions_seen ON authserver_sessions (seen_at);

-- Clients that got an ID token in a session and are to be notified of its end (OpenID Connect Back-Channel Logout
-- 1.0). Once the session is deleted, for whatever reason, session_id is NULL and the notification is due.
CREATE TABLE authserver_session_clients (
	id           {{id}},
	session_id   BIGINT REFERENCES authserver_sessions (id) ON DELETE SET NULL,
	client_id    TEXT {{bytewise}} NOT NULL,
	user_id      TEXT {{bytewise}} NOT NULL,
	sid          TEXT {{bytewise}} NOT NULL,
	began_at     BIGINT NOT NULL, -- when the session began
	attempts     BIGINT NOT NULL DEFAULT 0,
	due_at       BIGINT NOT NULL DEFAULT 0,
	leased_until BIGINT NOT NULL DEFAULT 0,
	UNIQUE (session_id, client_id)
);
CREATE INDEX authserver_session_clients_due ON authserver_session_clients (due_at, id) WHERE session_id IS NULL;

-- ---- Resources, and what users allow clients ----

CREATE TABLE authserver_resources (
	id           TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	slug         TEXT {{bytewise}} NOT NULL UNIQUE,
	uri          TEXT {{bytewise}} UNIQUE, -- NULL for broker resources
	kind         TEXT NOT NULL, -- backend_kind: mint, broker
	display_name TEXT NOT NULL DEFAULT '',
	scopes       TEXT NOT NULL DEFAULT '[]', -- objects with name, description and upstream
	provider_id  TEXT NOT NULL DEFAULT '', -- empty for mint resources
	policy       TEXT NOT NULL DEFAULT '{}',
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	claim_rules  TEXT NOT NULL DEFAULT '[]'
);

-- What users allow a client to do with a resource, or with this server where there is none.
CREATE TABLE authserver_consents (
	id          TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	user_id     TEXT {{bytewise}} NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	client_id   TEXT {{bytewise}} NOT NULL REFERENCES authserver_clients (id) ON DELETE CASCADE,
	resource_id TEXT {{bytewise}} NOT NULL, -- empty: none
	scope       TEXT NOT NULL,
	redirects   TEXT NOT NULL DEFAULT '', -- the digest of the redirect URIs at that time
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	UNIQUE (user_id, client_id, resource_id)
);
CREATE INDEX authserver_consents_client ON authserver_consents (client_id);
CREATE INDEX authserver_consents_resource ON authserver_consents (resource_id);

-- ---- Grants in progress ----

-- Authorization codes. A code that was spent stays for a while: if it is presented again, everything that was issued
-- for it is revoked.
CREATE TABLE authserver_codes (
	digest     TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	family     TEXT {{bytewise}} NOT NULL, -- that of the tokens that are issued for it
	client_id  TEXT {{bytewise}} NOT NULL,
	user_id    TEXT {{bytewise}} NOT NULL,
	granted    TEXT NOT NULL, -- an object: what was granted
	failures   SMALLINT NOT NULL DEFAULT 0, -- counts wrong verifiers
	spent_at   BIGINT NOT NULL DEFAULT 0, -- 0: not yet
	expires_at BIGINT NOT NULL
);
CREATE INDEX authserver_codes_expires ON authserver_codes (expires_at);

-- Pushed authorization requests (RFC 9126).
CREATE TABLE authserver_pushed (
	digest     TEXT {{bytewise}} NOT NULL PRIMARY KEY, -- that of the end of request_uri
	client_id  TEXT {{bytewise}} NOT NULL,
	request    TEXT NOT NULL, -- the parameters, as a form
	expires_at BIGINT NOT NULL
);
CREATE INDEX authserver_pushed_expires ON authserver_pushed (expires_at);

-- Devices that wait for somebody to enter their code (RFC 8628).
CREATE TABLE authserver_devices (
	digest     TEXT {{bytewise}} NOT NULL PRIMARY KEY, -- that of the device code
	user_code  TEXT {{bytewise}} NOT NULL UNIQUE, -- its letters
	client_id  TEXT {{bytewise}} NOT NULL,
	asked      TEXT NOT NULL, -- an object: scope and resources
	status     TEXT NOT NULL DEFAULT 'pending', -- pending, allowed, denied
	user_id    TEXT {{bytewise}} NOT NULL DEFAULT '', -- who allowed or denied it
	granted    TEXT NOT NULL DEFAULT '{}', -- an object: what was granted
	polled_at  BIGINT NOT NULL DEFAULT 0,
	pause      BIGINT NOT NULL, -- the least time between two polls, in microseconds
	expires_at BIGINT NOT NULL
);
CREATE INDEX authserver_devices_expires ON authserver_devices (expires_at);

-- Things that are accepted once and were used, such as assertions and proofs, where nodes share no other memory.
CREATE TABLE authserver_once (
	digest     {{bytes}} NOT NULL PRIMARY KEY, -- the SHA-256 of its name
	expires_at BIGINT NOT NULL -- from then on it is refused as expired
) {{without rowid}};
CREATE INDEX authserver_once_expires ON authserver_once (expires_at);

-- ---- Tokens ----

-- A family consists of all tokens that were issued for one code: the access tokens, whose jti begins with the id of
-- the family, and the refresh tokens, each of which replaces the one before.
CREATE TABLE authserver_families (
	id         TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	client_id  TEXT {{bytewise}} NOT NULL,
	user_id    TEXT {{bytewise}} NOT NULL,
	granted    TEXT NOT NULL,
	generation BIGINT NOT NULL DEFAULT 0, -- grows with each refresh
	present    TEXT NOT NULL, -- the digests of the refresh tokens that are accepted, separated by blanks
	previous   TEXT NOT NULL DEFAULT '', -- the digest of the one that was last used
	graces     SMALLINT NOT NULL DEFAULT 0, -- how often that one was accepted again
	rotated_at BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	revoked_at BIGINT NOT NULL DEFAULT 0, -- 0: it is not revoked
	reason     TEXT NOT NULL DEFAULT '' -- why it was revoked
);
CREATE INDEX authserver_families_user ON authserver_families (user_id);
CREATE INDEX authserver_families_client ON authserver_families (client_id);
CREATE INDEX authserver_families_expires ON authserver_families (expires_at);

-- The access tokens that were issued. Those of a family are found by their jti.
CREATE TABLE authserver_issuances (
	id                {{id}},
	jti               TEXT {{bytewise}} NOT NULL UNIQUE,
	family            TEXT {{bytewise}} NOT NULL DEFAULT '', -- empty: of no family
	user_id           TEXT {{bytewise}} NOT NULL DEFAULT '', -- empty: the client's own
	client_id         TEXT {{bytewise}} NOT NULL,
	consent_client_id TEXT NOT NULL DEFAULT '',
	resource_id       TEXT NOT NULL DEFAULT '',
	scope             TEXT NOT NULL DEFAULT '',
	kind              TEXT NOT NULL DEFAULT 'mint', -- backend_kind
	parent_jti        TEXT NOT NULL DEFAULT '',
	jkt               TEXT NOT NULL DEFAULT '',
	agent_id          TEXT NOT NULL DEFAULT '',
	agent_chain       TEXT NOT NULL DEFAULT '',
	issued_at         BIGINT NOT NULL,
	expires_at        BIGINT NOT NULL,
	revoked_at        BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX authserver_issuances_client ON authserver_issuances (client_id, id);
CREATE INDEX authserver_issuances_user ON authserver_issuances (user_id, id) WHERE user_id <> '';
-- Tokens that were exchanged for another token are found by that one.
CREATE INDEX authserver_issuances_parent ON authserver_issuances (parent_jti) WHERE parent_jti <> '';

-- What is revoked before it expires: the jti of an access token, or the id of a family, which stands for all its
-- tokens.
CREATE TABLE authserver_denied (
	id         TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	at         BIGINT NOT NULL,
	expires_at BIGINT NOT NULL -- from then on all of it has expired anyway
);
CREATE INDEX authserver_denied_at ON authserver_denied (at);

-- Signing keys, if they are kept in the database. The newest of each algorithm signs; the others still verify.
CREATE TABLE authserver_keys (
	kid        TEXT {{bytewise}} NOT NULL PRIMARY KEY, -- the thumbprint of the public key (RFC 7638)
	algorithm  TEXT NOT NULL,
	private    TEXT NOT NULL, -- PKCS #8, sealed
	created_at BIGINT NOT NULL
);

-- The public keys of a key management server as it last returned them, for a start while it does not answer.
CREATE TABLE authserver_kms_keys (
	name     TEXT {{bytewise}} NOT NULL PRIMARY KEY, -- the name of the key, with its server
	versions TEXT NOT NULL -- signed by this server
);

-- ---- Assertions of other identity providers ----

-- Identity providers whose assertions (ID-JAG) are exchanged for tokens.
CREATE TABLE authserver_idps (
	id         TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	name       TEXT NOT NULL,
	issuer     TEXT {{bytewise}} NOT NULL UNIQUE,
	jwks_uri   TEXT NOT NULL DEFAULT '', -- empty: the one of its discovery document
	audience   TEXT NOT NULL DEFAULT '', -- empty: the issuer of this server
	enabled    SMALLINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);

-- What the assertions of an identity provider may be used for. An empty list allows everything.
CREATE TABLE authserver_xaa_policies (
	id         TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	name       TEXT NOT NULL,
	idp_id     TEXT {{bytewise}} NOT NULL REFERENCES authserver_idps (id) ON DELETE CASCADE,
	client_ids TEXT NOT NULL,
	scopes     TEXT NOT NULL,
	resources  TEXT NOT NULL,
	enabled    SMALLINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE INDEX authserver_xaa_policies_idp ON authserver_xaa_policies (idp_id);

-- The users that the subjects of an identity provider stand for.
CREATE TABLE authserver_xaa_subjects (
	id          TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	idp_id      TEXT {{bytewise}} NOT NULL REFERENCES authserver_idps (id) ON DELETE CASCADE,
	idp_subject TEXT {{bytewise}} NOT NULL,
	user_id     TEXT {{bytewise}} NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	created_at  BIGINT NOT NULL,
	UNIQUE (idp_id, idp_subject)
);
CREATE INDEX authserver_xaa_subjects_user ON authserver_xaa_subjects (user_id);
CREATE INDEX authserver_xaa_subjects_created ON authserver_xaa_subjects (created_at, id);
CREATE INDEX authserver_xaa_subjects_idp ON authserver_xaa_subjects (idp_id, created_at, id);

-- ---- Connections: tokens of other providers that are passed on ----

-- Providers whose tokens are passed on.
CREATE TABLE authserver_brokers (
	id           TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	slug         TEXT {{bytewise}} NOT NULL UNIQUE,
	display_name TEXT NOT NULL DEFAULT '',
	protocol     TEXT NOT NULL, -- oauth, api_key, service_account
	config       TEXT NOT NULL DEFAULT '{}',
	secret       TEXT NOT NULL DEFAULT '', -- the client_secret of config, sealed; empty: none
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL
);

-- The credentials of users at these providers.
CREATE TABLE authserver_connections (
	id          TEXT {{bytewise}} NOT NULL PRIMARY KEY,
	user_id     TEXT {{bytewise}} NOT NULL REFERENCES authserver_users (id) ON DELETE CASCADE,
	provider_id TEXT {{bytewise}} NOT NULL REFERENCES authserver_brokers (id) ON DELETE CASCADE,
	credential  TEXT NOT NULL, -- an object, sealed
	scope       TEXT NOT NULL DEFAULT '', -- what the provider has granted, as its scopes
	version     BIGINT NOT NULL DEFAULT 1, -- grows with each credential
	revoked_at  BIGINT NOT NULL DEFAULT 0, -- when the provider rejected it; 0: never
	expires_at  BIGINT NOT NULL DEFAULT 0, -- when the access token expires; 0: not known
	lease       TEXT NOT NULL DEFAULT '', -- the process that renews it with the refresh token of this version
	lease_until BIGINT NOT NULL DEFAULT 0,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	UNIQUE (user_id, provider_id)
);
CREATE INDEX authserver_connections_provider ON authserver_connections (provider_id);

-- Users who are at a provider to connect it.
CREATE TABLE authserver_connecting (
	digest      TEXT {{bytewise}} NOT NULL PRIMARY KEY, -- that of the beginning of state
	user_id     TEXT {{bytewise}} NOT NULL,
	provider_id TEXT {{bytewise}} NOT NULL,
	return_url  TEXT NOT NULL,
	scope       TEXT NOT NULL, -- what was requested, as the provider's scopes
	expires_at  BIGINT NOT NULL
);
CREATE INDEX authserver_connecting_expires ON authserver_connecting (expires_at);

-- ---- Administration ----

-- Settings that administrators change while the server runs, such as dcr.mode.
CREATE TABLE authserver_settings (
	name  TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL
);

-- The audit log.
CREATE TABLE authserver_audit (
	id         {{id}},
	action     TEXT {{bytewise}} NOT NULL,
	actor_id   TEXT {{bytewise}} NOT NULL DEFAULT '',
	client_id  TEXT {{bytewise}} NOT NULL DEFAULT '',
	ip         TEXT NOT NULL DEFAULT '',
	detail     TEXT NOT NULL DEFAULT '',
	trace_id   TEXT NOT NULL DEFAULT '',
	created_at BIGINT NOT NULL
);
CREATE INDEX authserver_audit_created ON authserver_audit (created_at, id);
-- For searches by actor, client and action.
CREATE INDEX authserver_audit_actor ON authserver_audit (actor_id, created_at, id) WHERE actor_id <> '';
CREATE INDEX authserver_audit_client ON authserver_audit (client_id, created_at, id) WHERE client_id <> '';
CREATE INDEX authserver_audit_action ON authserver_audit (action, created_at, id);
