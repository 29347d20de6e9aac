package config

import "time"

var dcrKeys = []Key{
	{
		Name: "dcr.approved_redirects", check: redirects,
		Rule: "the redirect URIs that the mode `approved_redirects` allows, compared as a whole",
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
		Rule: "a client that registered itself is removed when it has not been used for this long and has no consents and tokens; 0 means never",
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
		Rule: "a client that registered itself is removed when it has not been used within this time after its registration; 0 means never, however many there are",
	},
}

var cimdKeys = []Key{
	{
		Name: "cimd.allow_private_addresses", Default: "false", check: onlyLocal(true),
		Rule: "turns off address filtering on document fetches (URL check and dial); development only; validation refuses it unless server.issuer is localhost",
	},
	{
		Name: "cimd.cache_ttl", Default: "1h", check: positive,
		Rule: "how long a document is cached at most; at least 60s",
	},
	{
		Name: "cimd.enabled", Default: "true",
		Rule: "clients known by the URL of their metadata document",
	},
	{
		Name: "cimd.fetch_timeout", Default: "10s", check: positive,
		Rule: "time limit of a whole fetch",
	},
	{
		Name: "cimd.require_https", Default: "true", check: onlyLocal(false),
		Rule: "false, with an issuer on localhost only: `http` URLs too",
	},
}

var oauthKeys = []Key{
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
		Rule: "within this time after its first use, a refresh token may be used again, at most 3 times, and gets a new pair of tokens; later uses revoke all tokens of its family",
	},
	{
		Name: "oauth.state_max_age", Default: "10m", check: positive,
		Rule: "lifetime of the OIDC state cookie (Max-Age) and the freshness window checked at callback",
	},
}

var clientCredentialsKeys = []Key{
	{
		Name: "client_credentials.enabled", Default: "true",
		Rule: "the grant `client_credentials`",
	},
	{
		Name: "client_credentials.token_expiry", Default: "1h", check: positive,
		Rule: "machine token TTL",
	},
}

var dpopKeys = []Key{
	{
		Name: "dpop.enabled", Default: "true",
		Rule: "support only: a client that sends no proof still gets a bearer token",
	},
	{
		Name: "dpop.nonce_ttl", Default: "60s", check: positive,
		Rule: "how long a nonce is valid",
	},
	{
		Name: "dpop.proof_lifetime", Default: "60s", check: positive,
		Rule: "maximum difference between now and the proof's `iat`",
	},
	{
		Name: "dpop.require_nonce", Default: "false",
		Rule: "when true every proof must carry the server nonce",
	},
}

var tokenExchangeKeys = []Key{
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
}

var agentsKeys = []Key{
	{
		Name: "agents.enable_jwks_listing", Default: "false",
		Rule: "lists agents in the JWKS endpoint, which exposes client ids publicly",
	},
}

var connectKeys = []Key{
	{
		Name: "connect.allowed_return_urls", check: returnURLs,
		Rule: "URLs to which a user may be sent back; an entry that ends in `/*` allows all URLs below it",
	},
	{
		Name: "connect.redirect_base_url", check: address,
		Rule: "base URL for OAuth callbacks",
	},
	{
		Name: "connect.state_secret", Secret: true, check: stateSecret,
		Rule: "HMAC key for state tokens; required, at least 32 characters",
	},
}

var xaaKeys = []Key{
	{
		Name: "xaa.enabled", Default: "true",
		Rule: "the grant of ID-JAG assertions",
	},
	{
		Name: "xaa.jwks_cache_ttl", Default: "1h", check: positive,
		Rule: "how long the keys of an identity provider are cached",
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
}
