package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const key64 = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// TestRules checks each rule, and that its fault names key and variable.
func TestRules(t *testing.T) {
	t.Parallel()
	const publicly = "server: {issuer: https://as.example}\nsession: {secret: a secret}\nadmin: {api_key: a key}\n"
	type vars = map[string]string
	for name, test := range map[string]struct {
		text string
		vars vars
		want []string // parts of the faults, sorted; empty: the configuration is valid
	}{
		"a site":                     {publicly, nil, nil},
		"a site by the environment":  {"", vars{"AUTHSERVER_SERVER_ISSUER": "https://as.example/tenant", "AUTHSERVER_SESSION_SECRET": "s", "AUTHSERVER_ADMIN_API_KEY": "k"}, nil},
		"a site without secrets":     {"server: {issuer: https://as.example}", nil, []string{"admin.api_key (AUTHSERVER_ADMIN_API_KEY): required when admin is enabled and server.issuer is not localhost", "session.secret (AUTHSERVER_SESSION_SECRET): required when server.issuer is not localhost"}},
		"a site without admin":       {"server: {issuer: https://as.example}\nsession: {secret: s}\nadmin: {enabled: false}", nil, nil},
		"localhost by address":       {"server: {issuer: 'http://127.9.9.9:9000'}", nil, nil},
		"localhost by IPv6 address":  {"server: {issuer: 'http://[::1]:9000'}", nil, nil},
		"a name like localhost":      {"server: {issuer: 'https://localhost.example'}\nadmin: {enabled: false}", nil, []string{"session.secret"}},
		"localhost by a name below":  {"server: {issuer: 'https://auth.localhost'}", nil, nil},
		"issuer with a slash":        {"server: {issuer: 'http://localhost:9000/'}", nil, []string{"server.issuer (AUTHSERVER_SERVER_ISSUER): \"http://localhost:9000/\" is not an http or https URL without"}},
		"issuer with a query":        {"server: {issuer: 'http://localhost:9000?a=b'}", nil, []string{"server.issuer"}},
		"issuer of another scheme":   {"server: {issuer: 'ftp://localhost'}", nil, []string{"server.issuer"}},
		"issuer with a user":         {"server: {issuer: 'http://a@localhost'}", nil, []string{"server.issuer"}},
		"no issuer":                  {"server: {issuer: ''}", nil, []string{"server.issuer"}},
		"an address without a port":  {"server: {address: localhost}", nil, []string{"server.address (AUTHSERVER_SERVER_ADDRESS): \"localhost\" is not an address to listen at"}},
		"one address for both":       {"server: {address: ':9001'}", nil, []string{"admin.address (AUTHSERVER_ADMIN_ADDRESS): must differ from server.address"}},
		"origins":                    {"server: {allowed_origins: ['https://app.example', 'http://localhost:5173']}", nil, nil},
		"an origin with a path":      {"server: {allowed_origins: ['https://app.example/']}", nil, []string{"server.allowed_origins"}},
		"networks":                   {"server: {allow_networks: [10.0.0.0/8, 'fd00::/8']}", nil, nil},
		"a network without a size":   {"server: {allow_networks: [10.0.0.1]}", nil, []string{"server.allow_networks (AUTHSERVER_SERVER_ALLOW_NETWORKS): \"10.0.0.1\" is not a network"}},
		"every origin":               {"server: {allowed_origins: ['*']}", nil, []string{"server.allowed_origins"}},
		"no timeout":                 {"server: {read_timeout: 0s, write_timeout: -1s}", nil, []string{"server.read_timeout (AUTHSERVER_SERVER_READ_TIMEOUT): must be greater than zero", "server.write_timeout"}},
		"another driver":             {"storage: {driver: mysql}", nil, []string{"storage.driver (AUTHSERVER_STORAGE_DRIVER): \"mysql\" is not one of: sqlite, postgres"}},
		"postgres":                   {"storage: {driver: postgres, postgres: {dsn: 'postgres://db/as', max_conns: 5}}", nil, nil},
		"postgres without a dsn":     {"storage: {driver: postgres}", nil, []string{"storage.postgres.dsn (AUTHSERVER_STORAGE_POSTGRES_DSN): required when storage.driver is postgres"}},
		"sqlite without a path":      {"storage: {sqlite: {path: ''}}", nil, []string{"storage.sqlite.path"}},
		"more kept than allowed":     {"storage: {postgres: {max_conns: 4}}", nil, []string{"storage.postgres.min_conns"}},
		"no connections":             {"storage: {postgres: {max_conns: 0, min_conns: 0}}", nil, []string{"storage.postgres.max_conns (AUTHSERVER_STORAGE_POSTGRES_MAX_CONNS): must be from 1 to 1000"}},
		"another algorithm":          {"signing: {algorithm: HS256}", nil, []string{"signing.algorithm"}},
		"no folder for keys":         {"signing: {key_path: ''}", nil, []string{"signing.key_path"}},
		"keys in the database":       {"signing: {key_store: postgres_key, key_path: ''}\ndata_encryption: {driver: aes_master, aes_master: {key_env: MASTER}}", vars{"MASTER": key64}, nil},
		"keys in it, open":           {"signing: {key_store: postgres_key}", nil, []string{"signing.key_store (AUTHSERVER_SIGNING_KEY_STORE): postgres_key stores the keys encrypted: set data_encryption.driver"}},
		"a key of their own":         {"signing: {postgres_key: {encryption_key_env: KEK}}", vars{"KEK": "short"}, []string{"signing.postgres_key.encryption_key_env (AUTHSERVER_SIGNING_PG_ENCRYPTION_KEY_ENV): the variable KEK does not contain 64 hex characters"}},
		"a master key":               {"data_encryption: {driver: aes_master}", vars{"AUTHSERVER_DATA_ENCRYPTION_KEY_ENV": "MASTER", "MASTER": key64}, nil},
		"no master key":              {"data_encryption: {driver: aes_master}", nil, []string{"data_encryption.aes_master.key_env (AUTHSERVER_DATA_ENCRYPTION_KEY_ENV): required when data_encryption.driver is aes_master"}},
		"a name of nothing":          {"data_encryption: {aes_master: {old_key_env: GONE}}", vars{"GONE": ""}, []string{"data_encryption.aes_master.old_key_env: names the variable GONE, which is not set"}},
		"a secret, not its name":     {"data_encryption: {aes_master: {key_env: " + key64 + "}}\ncounters: {redis_env: 'redis://:" + key64 + "@cache'}", nil, []string{"counters.redis_env (AUTHSERVER_COUNTERS_REDIS_ENV): names a variable that is not set; the value must be the name", "data_encryption.aes_master.key_env (AUTHSERVER_DATA_ENCRYPTION_KEY_ENV): names a variable that is not set; the value must be the name of an environment variable, not the secret itself (line 1)"}},
		"one in capitals":            {"data_encryption: {aes_master: {key_env: " + strings.Repeat("AB", 32) + "}}", nil, []string{"data_encryption.aes_master.key_env (AUTHSERVER_DATA_ENCRYPTION_KEY_ENV): names a variable that is not set;"}},
		"an old key alone":           {"data_encryption: {aes_master: {old_key_env: MASTER}}", vars{"MASTER": key64}, []string{"data_encryption.aes_master.old_key_env: requires data_encryption.aes_master.key_env"}},
		"another encryption":         {"data_encryption: {driver: rot13}", nil, []string{"data_encryption.driver (AUTHSERVER_DATA_ENCRYPTION_DRIVER): \"rot13\" is not one of: aes_master, kms_transit_encrypt"}},
		"another mode":               {"dcr: {mode: closed}", nil, []string{"dcr.mode"}},
		"registration not limited":   {"dcr: {rate_limit: 0, rate_limit_burst: 0}", nil, []string{"dcr.rate_limit (AUTHSERVER_DCR_RATE_LIMIT)", "dcr.rate_limit_burst"}},
		"redirects":                  {"dcr: {approved_redirects: ['https://a.example/cb', 'com.example.app:/cb']}", nil, nil},
		"a redirect that is a path":  {"dcr: {approved_redirects: [/cb]}", nil, []string{"dcr.approved_redirects"}},
		"private documents":          {publicly + "cimd: {enabled: false, allow_private_addresses: true, require_https: false}", nil, []string{"cimd.allow_private_addresses (AUTHSERVER_CIMD_ALLOW_PRIVATE_ADDRESSES): may be true only when server.issuer is localhost", "cimd.require_https (AUTHSERVER_CIMD_REQUIRE_HTTPS): may be false only"}},
		"a cookie of two words":      {"session: {cookie_name: 'a b'}", nil, []string{"session.cookie_name"}},
		"same site":                  {"session: {same_site: Lax}", nil, []string{"session.same_site"}},
		"no limit":                   {"rate_limit: {requests_per_second: 0, burst: -1}", nil, []string{"rate_limit.burst", "rate_limit.requests_per_second (AUTHSERVER_RATE_LIMIT_RPS): must be greater than zero; to switch"}},
		"no limit, switched off":     {"rate_limit: {enabled: false, requests_per_second: 0, burst: 0}", nil, nil},
		"no lockout":                 {"rate_limit: {auth_fail_max: 0}", nil, nil},
		"a lockout of nothing":       {"rate_limit: {auth_fail_max: -1, auth_fail_window: 0s, auth_lockout: 0s, max_tracked_identities: 0}", nil, []string{"rate_limit.auth_fail_max", "rate_limit.auth_fail_window", "rate_limit.auth_lockout", "rate_limit.max_tracked_identities"}},
		"back longer than back":      {"admin: {audit_default_lookback: 721h}", nil, []string{"admin.audit_default_lookback (AUTHSERVER_ADMIN_AUDIT_DEFAULT_LOOKBACK): must be at most admin.audit_max_lookback"}},
		"a negative limit":           {"admin: {burst: -1, requests_per_second: -1}", nil, []string{"admin.burst: must not be negative", "admin.requests_per_second: must not be negative"}},
		"a scope of quotes":          {"oauth: {default_client_scope: 'read \"write\"'}", nil, []string{"oauth.default_client_scope"}},
		"a code for an hour":         {"oauth: {code_expiry: 1h, refresh_reuse_grace: -1s}", nil, []string{"oauth.code_expiry (AUTHSERVER_OAUTH_CODE_EXPIRY): must be at most 10m", "oauth.refresh_reuse_grace"}},
		"a path among others":        {"observability: {metrics: {path: /admin/metrics}}", nil, []string{"observability.metrics.path"}},
		"a path of nothing":          {"observability: {metrics: {path: metrics}}", nil, []string{"observability.metrics.path"}},
		"logs":                       {"observability: {logging: {format: xml, level: trace}}", nil, []string{"observability.logging.format (AUTHSERVER_LOG_FORMAT): \"xml\" is not one of: json, text", "observability.logging.level"}},
		"the old name":               {"oidc: {client_secret_env: OLD, client_secret_ref: NEW}", vars{"OLD": "a", "NEW": "b"}, []string{"oidc.client_secret_env: is the deprecated name of oidc.client_secret_ref, which has a different value"}},
		"a secret twice":             {"oidc: {client_secret: a, client_secret_ref: NEW}", vars{"NEW": "b"}, []string{"oidc.client_secret (AUTHSERVER_OIDC_CLIENT_SECRET): may not be set together with oidc.client_secret_ref"}},
		"an upstream with nothing":   {"oidc: {enabled: true, scopes: [email]}", nil, []string{"oidc.client_id (AUTHSERVER_OIDC_CLIENT_ID): required when oidc is enabled", "oidc.issuer", "oidc.redirect_uri", "oidc.scopes"}},
		"an upstream, off":           {"oidc: {client_id: a, issuer: 'https://idp.example'}", nil, nil},
		"keys elsewhere":             {"signing: {key_store: kms_transit}", nil, []string{"signing.kms_transit.address (AUTHSERVER_KMS_ADDR): required", "signing.kms_transit.token (AUTHSERVER_KMS_TOKEN): this or signing.kms_transit.approle.role_id is required"}},
		"two ways to log in":         {"signing: {kms_transit: {token: a, approle: {role_id: b}}}", nil, []string{"signing.kms_transit.approle.secret_id", "signing.kms_transit.token"}},
		"sealing elsewhere":          {"data_encryption: {driver: kms_transit_encrypt, kms_transit_encrypt: {auth_method: approle, address: 'vault:8200'}}", nil, []string{"data_encryption.kms_transit_encrypt.address", "data_encryption.kms_transit_encrypt.approle.role_id_env (AUTHSERVER_DATA_ENCRYPTION_KMS_ROLE_ID_ENV): required when auth_method is approle", "data_encryption.kms_transit_encrypt.approle.secret_id_env", "data_encryption.kms_transit_encrypt.key_name"}},
		"sealing by a token":         {"data_encryption: {driver: kms_transit_encrypt, kms_transit_encrypt: {auth_method: token, address: 'https://vault', key_name: k}}", nil, []string{"data_encryption.kms_transit_encrypt.token_env"}},
		"sealed elsewhere before":    {"data_encryption: {driver: aes_master, aes_master: {key_env: MASTER}, kms_transit_encrypt: {auth_method: token, address: 'https://vault'}}", vars{"MASTER": strings.Repeat("0a", 32)}, []string{"data_encryption.kms_transit_encrypt.key_name", "data_encryption.kms_transit_encrypt.token_env"}},
		"metrics that are pushed":    {"observability: {metrics: {provider: both}}", nil, []string{"observability.metrics.otel_endpoint"}},
		"logs that are pushed":       {"observability: {logging: {outputs: {otel: true}}}", nil, []string{"observability.logging.outputs.otel_endpoint"}},
		"traces":                     {"observability: {tracing: {enabled: true, endpoint: 'collector:4317', sample_rate: 1.5}}", nil, []string{"observability.tracing.sample_rate (AUTHSERVER_TRACING_SAMPLE_RATE): must be from 0 to 1"}},
		"collectors":                 {"observability: {tracing: {enabled: true, endpoint: collector}, metrics: {provider: otel, otel_endpoint: 'grpc://c:1'}, logging: {outputs: {otel: true, otel_endpoint: ':4317'}}}", nil, []string{"observability.logging.outputs.otel_endpoint", "observability.metrics.otel_endpoint", "observability.tracing.endpoint (AUTHSERVER_TRACING_ENDPOINT): \"collector\" is neither"}},
		"a collector by URL":         {"observability: {tracing: {enabled: true, endpoint: 'https://collector:4317'}}", nil, nil},
		"a chain of eleven":          {"token_exchange: {max_chain_depth: 11, token_expiry: 0s}", nil, []string{"token_exchange.max_chain_depth (AUTHSERVER_TOKEN_EXCHANGE_MAX_CHAIN_DEPTH): must be from 1 to 10", "token_exchange.token_expiry (AUTHSERVER_TOKEN_EXCHANGE_TOKEN_EXPIRY): must be"}},
		"no exchange":                {"token_exchange: {enabled: false, max_chain_depth: 0, token_expiry: 0s}", nil, nil},
		"the defaults, written":      {"dpop: {enabled: true}\ncimd: {enabled: true, cache_ttl: 30m}\nxaa: {enabled: true, subject_mode: strict, max_assertion_age: 1m}\ntoken_exchange: {enabled: true}", nil, nil},
		"nonces":                     {"dpop: {require_nonce: true}", nil, nil},
		"a list of agents":           {"agents: {enable_jwks_listing: true}", nil, nil},
		"a short secret for states":  {"connect: {state_secret: short}", nil, []string{"connect.state_secret (AUTHSERVER_CONNECT_STATE_SECRET): must have at least 32 characters"}},
		"where a user may return to": {"connect: {allowed_return_urls: ['https://a.example/*', ftp://a], redirect_base_url: x}", nil, []string{"connect.allowed_return_urls (AUTHSERVER_CONNECT_ALLOWED_RETURN_URLS): \"ftp://a\"", "connect.redirect_base_url (AUTHSERVER_CONNECT_REDIRECT_BASE_URL): \"x\""}},
		"subjects":                   {"xaa: {subject_mode: guess}", nil, []string{"xaa.subject_mode (AUTHSERVER_XAA_SUBJECT_MODE): \"guess\" is not one of: auto_map, strict"}},

		"a key that is not there":       {"server: {adresse: ':1'}\nsrever: {}", nil, []string{"server.adresse: there is no such key (line 1)", "srever: there is no such key (line 2)"}},
		"a section that is a word":      {"server: here", nil, []string{"server: must be a section with keys (line 1)"}},
		"a word that is a section":      {"session: {secret: {env: A}}", nil, []string{"session.secret (AUTHSERVER_SESSION_SECRET): must be a value, not a section (line 1)"}},
		"a list that is a word":         {"oidc: {scopes: openid}", nil, []string{"oidc.scopes (AUTHSERVER_OIDC_SCOPES): must be a list"}},
		"a word that is a list":         {"dcr: {mode: [open]}", nil, []string{"dcr.mode (AUTHSERVER_DCR_MODE): must not be a list"}},
		"a list of lists":               {"oidc: {scopes: [[openid]]}", nil, []string{"oidc.scopes (AUTHSERVER_OIDC_SCOPES): must be a list of words (line 1)"}},
		"a key twice":                   {"dcr:\n  mode: open\n  mode: admin_only", nil, []string{"dcr.mode: is given twice (line 3)"}},
		"a section twice":               {"dcr: {mode: open}\ndcr: {mode: open}", nil, []string{"dcr: is given twice (line 2)"}},
		"an alias":                      {"dcr: {mode: &mode open}\nxaa: {subject_mode: *mode}", nil, []string{"xaa.subject_mode (AUTHSERVER_XAA_SUBJECT_MODE): aliases are not read: write the value out (line 2)"}},
		"aliases of aliases":            {"resources: [&a {slug: [x, x]}, &b {slug: [*a, *a]}, {slug: [*b, *b]}]", nil, []string{"resources[0]", "resources[1]: aliases", "resources[2]: aliases"}},
		"a merge":                       {"dcr: &d {mode: open}\nserver: {<<: *d}", nil, []string{"server.<<: there is no such key (line 2)"}},
		"a tag":                         {"dcr: {mode: !!binary b3Blbg==}", nil, []string{"dcr.mode (AUTHSERVER_DCR_MODE): tags are not read (line 1)"}},
		"two documents":                 {"dcr: {mode: open}\n---\ndcr: {mode: open}", nil, []string{"the file must be one YAML document"}},
		"a list as a whole":             {"- a", nil, []string{"the file: must be a section with keys (line 1)"}},
		"no YAML":                       {"a: b: c", nil, []string{"yaml: mapping values are not allowed"}},
		"too much":                      {strings.Repeat("#", maxFile+1), nil, []string{"the file has more than 1048576 bytes"}},
		"a key of a list":               {"? [a]\n: b", nil, []string{"the file: a key must be a word (line 1)"}},
		"brackets":                      {strings.Repeat("[", 100000), nil, []string{"yaml: "}},
		"brackets of a resource":        {"resources: [{slug: " + strings.Repeat("[", 50) + strings.Repeat("]", 50) + "}]", nil, []string{"resources[0]: is nested too deeply"}},
		"all at once":                   {"xaa: {what: 1}\ndcr: {mode: closed}", vars{"AUTHSERVER_SERVER_READ_TIMEOUT": "30"}, []string{"dcr.mode", "server.read_timeout (AUTHSERVER_SERVER_READ_TIMEOUT): \"30\" is not a duration with a unit", "xaa.what"}},
		"resources":                     {resourceList, nil, nil},
		"clients":                       {clients, nil, nil},
		"a client with a secret":        {"clients: [{client_id: a, token_endpoint_auth_method: client_secret_basic}]", nil, []string{"clients[0]: token_endpoint_auth_method: \"client_secret_basic\" is not one of: none, private_key_jwt"}},
		"clients that are no clients":   {"clients: [{client_id: a}, {client_id: a}, {client_id: 'a b'}, {client_name: A}, {client_id: b, scope: '\"'}, {client_id: c, secret: s}]", nil, []string{"clients[1]: the client_id \"a\" is given twice", "clients[2]: client_id", "clients[3]: client_id", "clients[4]: scope", "clients[5]: unknown field \"secret\""}},
		"variables":                     {"server: {issuer: 'https://{$SUB:auth}.{$DOMAIN}', allowed_origins: ['https://{$DOMAIN}']}", vars{"DOMAIN": "localhost:8443"}, nil},
		"a variable that is not set":    {"server: {issuer: 'https://{$DOMAIN}', allowed_origins: ['{$DOMAIN}']}\nclients: [{client_id: '{$DOMAIN}'}]", vars{"DOMAIN": ""}, []string{"clients[0]: uses the variable DOMAIN, which is not set (line 2)", "server.allowed_origins (AUTHSERVER_SERVER_ALLOWED_ORIGINS): uses the variable DOMAIN, which is not set (line 1)", "server.issuer (AUTHSERVER_SERVER_ISSUER): uses the variable DOMAIN, which is not set (line 1)"}},
		"what is no variable":           {"session: {secret: '{$a b}', cookie_name: 'a{$'}\nserver: {issuer: 'https://{$}'}", nil, []string{"server.issuer (AUTHSERVER_SERVER_ISSUER): {$ must begin a variable", "session.cookie_name (AUTHSERVER_SESSION_COOKIE_NAME): {$ must", "session.secret (AUTHSERVER_SESSION_SECRET): {$ must begin"}},
		"a resource with more":          {"resources: [{slug: a, uri: 'https://a', colour: red}]", nil, []string{"resources[0]: unknown field \"colour\" (line 1)"}},
		"a resource without a uri":      {"resources: [{slug: a}]", nil, []string{"resources[0]: uri: required when backend_kind is mint"}},
		"a resource with a fragment":    {"resources: [{slug: a, uri: 'https://a#'}]", nil, []string{"resources[0]: uri: "}},
		"a resource that is not a name": {"resources: [{slug: a/b, uri: 'https://a'}]", nil, []string{"resources[0]: slug: "}},
		"a resource of what":            {"resources: [{slug: a, uri: 'https://a', backend_kind: mine}]", nil, []string{"resources[0]: backend_kind: "}},
		"a slug twice":                  {"resources: [{slug: a, uri: 'https://a'}, {slug: a, uri: 'https://b'}]", nil, []string{"resources[1]: the slug \"a\" is given twice"}},
		"a uri twice":                   {"resources: [{slug: a, uri: 'https://a'}, {slug: b, uri: 'https://a'}]", nil, []string{"resources[1]: the uri \"https://a\" is given twice"}},
		"a scope twice":                 {"resources: [{slug: a, uri: 'https://a', scopes: [{name: r}, {name: r}]}]", nil, []string{"resources[0]: scopes: r is given twice"}},
		"a scope that is none":          {"resources: [{slug: a, uri: 'https://a', scopes: [{name: 'a b'}]}]", nil, []string{"resources[0]: scopes: \"a b\" is not a scope"}},
		"upstream of nothing":           {"resources: [{slug: a, uri: 'https://a', scopes: [{name: r, upstream: repo}]}]", nil, []string{"resources[0]: scopes: r: upstream is allowed only when backend_kind is broker"}},
		"a provider of nothing":         {"resources: [{slug: a, uri: 'https://a', BrokerProviderSlug: git}]", nil, []string{"resources[0]: broker_provider_slug: allowed only when backend_kind is broker"}},
		"a provider twice":              {"resources: [{slug: a, uri: 'https://a', BrokerProviderSlug: git, broker_provider_slug: git}]", nil, []string{"resources[0]: BrokerProviderSlug and broker_provider_slug are the same"}},
		"a broker":                      {"resources: [{slug: a, backend_kind: broker, BrokerProviderSlug: git}]", nil, nil},
		"a provider":                    {"broker_providers: [{slug: git, protocol: oauth, config_data: {client_id: a}}]", nil, []string{"connect.state_secret (AUTHSERVER_CONNECT_STATE_SECRET): required when there are broker_providers"}},
		"a provider by carrier pigeon":  {"broker_providers: [{slug: git, protocol: pigeon}, {slug: git, protocol: oauth}, {slug: '', protocol: oauth}, {slug: x, protocol: oauth, config_data: 1}]", nil, []string{"broker_providers[0]: protocol", "broker_providers[1]: the slug", "broker_providers[2]: slug", "broker_providers[3]: config_data"}},
		"resources as a section":        {"resources: {slug: a}", nil, []string{"resources: must be a list"}},
		"a resource that is a word":     {"resources: [a]", nil, []string{"resources[0]: must be a section with keys"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(test.text), environment(test.vars))
			var faults Errors
			if err != nil && !errors.As(err, &faults) {
				t.Fatal(err)
			}
			if len(faults) != len(test.want) || !slices.IsSorted(faults) {
				t.Fatalf("faults:\n%s\nwant:\n%s", faults, Errors(test.want))
			}
			for i, want := range test.want {
				if !strings.HasPrefix(faults[i], want) {
					t.Errorf("fault %d is %q, want %q", i, faults[i], want)
				}
			}
		})
	}
}

const resourceList = `
resources:
  - slug: files
    uri: https://files.example/mcp
    display_name: Files
    scopes:
      - {name: "files:read", description: Read files}
      - {name: "files:write"}
    policy:
      exchange: {allowed_client_ids: [a]}
      runtime: {client_ids: [b, c]}
      connect: {allowed_return_urls: ["https://files.example/back"]}
  - {slug: "2024", uri: "urn:example:numbers"}
`

const clients = `
clients:
  - client_id: console
    client_name: Console
    grant_types: [authorization_code, refresh_token]
    redirect_uris: ["https://{$DOMAIN:localhost}/console/callback"]
  - {client_id: reader, token_endpoint_auth_method: private_key_jwt, scope: "a b", jwks: {keys: []}}
`

// TestSeeds checks the entries of lists, and the expansion of variables in the entries.
func TestSeeds(t *testing.T) {
	t.Parallel()
	for domain, want := range map[string]string{"": "localhost", "a.example": "a.example", "{$HOME}": "{$HOME}"} {
		c, err := Parse([]byte(clients+"server: {issuer: 'http://localhost', allowed_origins: ['https://{$DOMAIN:localhost}', '{$NONE:}']}\npages: {folder: 'a{$DOMAIN:}b{$DOMAIN:x:y}'}"), environment(map[string]string{"DOMAIN": domain}))
		if err != nil && domain != "{$HOME}" { // the inserted value is no origin, and is not expanded again
			t.Fatal(err)
		}
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Error(err)
			}
			continue
		}
		if console := c.Clients[0]; console.AuthMethod != "none" || console.Name != "Console" || console.Redirects[0] != "https://"+want+"/console/callback" || len(console.Grants) != 2 {
			t.Errorf("%+v", console)
		}
		if reader := c.Clients[1]; string(reader.JWKS) != `{"keys":[]}` || reader.Scope != "a b" || reader.AuthMethod != "private_key_jwt" {
			t.Errorf("%+v", reader)
		}
		folder := map[string]string{"": "abx:y", "a.example": "aa.exampleba.example"}[domain]
		if !slices.Equal(c.Server.AllowedOrigins, []string{"https://" + want}) || c.Pages.Folder != folder {
			t.Errorf("%q, %q", c.Server.AllowedOrigins, c.Pages.Folder)
		}
	}
}

// TestResources checks the form of an entry, which is that of the administration API.
func TestResources(t *testing.T) {
	t.Parallel()
	c, err := Parse([]byte(resourceList), environment(nil))
	if err != nil {
		t.Fatal(err)
	}
	files := c.Resources[0]
	if len(c.Resources) != 2 || files.BackendKind != "mint" || files.Scopes[0].Description != "Read files" || !slices.Equal(files.Policy.Runtime.ClientIDs, []string{"b", "c"}) ||
		files.Policy.Exchange.AllowedClientIDs[0] != "a" || files.Policy.Connect.AllowedReturnURLs[0] != "https://files.example/back" {
		t.Errorf("%+v", c.Resources)
	}
}

// TestRootTwice checks that a resource cannot be listed twice, with and without the "/" of an empty path.
func TestRootTwice(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte("resources:\n- {slug: a, backend_kind: mint, uri: https://a.example}\n- {slug: b, backend_kind: mint, uri: https://a.example/}\n"), environment(nil))
	if err == nil || !strings.Contains(err.Error(), `the uri "https://a.example/" is given twice`) {
		t.Errorf("error %v", err)
	}
}

// TestFaultsHaveLines checks that a fault has the line of the file, unless the value is from a variable.
func TestFaultsHaveLines(t *testing.T) {
	t.Parallel()
	text := []byte("server:\n  read_timeout: 30\n  write_timeout: [a]\noauth:\n  code_expiry: 1h\nadmin:\n  audit_max_lookback: 1h\n")
	_, err := Parse(text, environment(map[string]string{"AUTHSERVER_OAUTH_CODE_EXPIRY": "2h", "AUTHSERVER_SESSION_MAX_AGE": "x"}))
	var faults Errors
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	for i, want := range []string{
		`admin.audit_default_lookback (AUTHSERVER_ADMIN_AUDIT_DEFAULT_LOOKBACK): must be at most admin.audit_max_lookback`, `oauth.code_expiry (AUTHSERVER_OAUTH_CODE_EXPIRY): must be at most 10m`,
		`server.read_timeout (AUTHSERVER_SERVER_READ_TIMEOUT): "30" is not a duration with a unit, such as 30s, 15m or 24h (line 2)`, `server.write_timeout (AUTHSERVER_SERVER_WRITE_TIMEOUT): must not be a list (line 3)`,
		`session.max_age (AUTHSERVER_SESSION_MAX_AGE): "x" is not a duration with a unit, such as 30s, 15m or 24h`,
	} {
		if i >= len(faults) || faults[i] != want {
			t.Errorf("fault %d of\n%s\nis not %q", i, err, want)
		}
	}
}

// TestShortSecret checks the warning about a short secret.
func TestShortSecret(t *testing.T) {
	t.Parallel()
	for secret, warned := range map[string]bool{"": false, "short": true, strings.Repeat("s", 31): true, strings.Repeat("s", 32): false} {
		c, err := Parse([]byte("session: {secret: '"+secret+"'}"), environment(nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(c.Warnings(), "\n"), "session.secret has fewer than 32"); got != warned {
			t.Errorf("%q: %v", secret, c.Warnings())
		}
	}
}

// TestNormalize checks values that follow from other keys.
func TestNormalize(t *testing.T) {
	t.Parallel()
	c, err := Parse([]byte("session: {same_site: none}\nadmin: {requests_per_second: 2.5}\noidc: {client_secret_env: OLD}\ncimd: {allow_private_addresses: true}"), environment(map[string]string{"OLD": "a secret"}))
	if err != nil {
		t.Fatal(err)
	}
	if !c.Session.Secure || c.Admin.Burst != 3 || c.OIDC.ClientSecretRef.Secret != "a secret" {
		t.Errorf("%+v", c)
	}
	if warnings := strings.Join(c.Warnings(), "\n"); !strings.Contains(warnings, "oidc.client_secret_env is deprecated") || !strings.Contains(warnings, "admin.api_key is not set") ||
		!strings.Contains(warnings, "cimd.allow_private_addresses is on") {
		t.Errorf("warnings: %s", warnings)
	}
}

// FuzzParse checks that parsing never panics, that the same input is accepted again, and that no fault is reported
// twice.
func FuzzParse(f *testing.F) {
	f.Add(resourceList, "30s")
	f.Add(clients, "{$")
	f.Add("server: {issuer: http://localhost}\ndcr: {mode: open}\n", "")
	f.Add("broker_providers: [{slug: a, protocol: oauth, config_data: {a: [1, 2.5, null, true, 2001-01-01]}}]", "x")
	f.Add("a: &a [*a]", "-1")
	f.Fuzz(func(t *testing.T, text, value string) {
		vars := map[string]string{}
		for i := range keys {
			if v := keys[i].Variable(); v != "" && i%7 == len(value)%7 {
				vars[v] = value
			}
		}
		_, err := Parse([]byte(text), environment(vars))
		if err == nil {
			return
		}
		var faults Errors
		if !errors.As(err, &faults) || len(faults) == 0 || !slices.IsSorted(faults) || len(slices.Compact(slices.Clone(faults))) != len(faults) {
			t.Fatalf("%T %q", err, err)
		}
		_, secondErr := Parse([]byte(text), environment(vars))
		if secondErr == nil || secondErr.Error() != err.Error() {
			t.Fatalf("once %q, then %v", err, secondErr)
		}
	})
}
