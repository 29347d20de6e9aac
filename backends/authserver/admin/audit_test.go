package admin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
)

// TestAudit checks that each change by an administrator is recorded in the audit feed once, with its actor and without
// secrets.
func TestAudit(t *testing.T) {
	t.Parallel()
	a := newAPI(t, authtest.SQLite(t), "data_encryption: {driver: aes_master, aes_master: {key_env: MASTER}}", map[string]string{"MASTER": master})
	const hush = "hush-hush-hush"
	var secrets []string
	ids := make(map[string]string) // the ids of created objects by kind
	for _, test := range [...]struct{ call, as, want string }{
		{`POST /clients {"client_name":"C","grant_types":["client_credentials"],"scope":"read"}`, "client", "client.created_admin"},
		{`PATCH /clients/<client> {"client_name":"D"}`, "", "client.updated"},
		{`POST /clients/<client>/rotate-secret`, "", "client.secret_rotated"},
		{`PATCH /clients/<client>/suspend`, "", "client.suspended"},
		{`PATCH /clients/<client>/reactivate`, "", "client.reactivated"},
		{`PATCH /clients/<client>/revoke`, "", "client.revoked"},
		{`POST /users {"email":"ann@example.com","password":"` + hush + `"}`, "user", "user.created"},
		{`PATCH /users/<user> {"password":"` + hush + `2"}`, "", "user.updated"},
		{`PATCH /users/<user>/disable`, "", "user.disabled"},
		{`PATCH /users/<user>/enable`, "", "user.enabled"},
		{`DELETE /users/<user>/tokens`, "", "user.force_logout"},
		{`POST /broker-providers {"slug":"git","protocol":"oauth","config_data":{"client_secret":"` + hush + `"}}`, "provider", "broker_provider.created"},
		{`PATCH /broker-providers/<provider> {"config_data":{"client_secret":"` + hush + `"}}`, "", "broker_provider.patched"},
		{`POST /broker-providers {"slug":"keys","protocol":"api_key","config_data":{"header_name":"X-Key"}}`, "keys", "broker_provider.created"},
		{`PUT /users/<user>/connections/keys {"api_key":"` + hush + `"}`, "", "broker_grant.created"},
		{`POST /resources {"slug":"mail","uri":"https://api.example/mail"}`, "resource", "resource.created"},
		{`PATCH /resources/mail {"display_name":"Mail"}`, "", "resource.patched"},
		{`POST /resources/mail/policy/exchange/allowed-clients {"client_id":"c"}`, "", "resource.policy.exchange.added"},
		{`DELETE /resources/mail/policy/exchange/allowed-clients/c`, "", "resource.policy.exchange.removed"},
		{`POST /resources/mail/policy/runtime/client-ids {"client_id":"c"}`, "", "resource.policy.runtime.added"},
		{`POST /resources/mail/policy/runtime/client-ids {"client_id":"c"}`, "", ""}, // exists already: no event
		{`POST /resources/mail/policy/connect/allowed-return-urls {"url":"https://c.example/"}`, "", "resource.policy.connect.added"},
		{`POST /idps {"name":"I","issuer":"https://idp.example"}`, "idp", "idp.created"},
		{`PUT /idps/<idp> {"name":"J","issuer":"https://idp.example"}`, "", "idp.updated"},
		{`POST /xaa/policies {"name":"P","idp_id":"<idp>"}`, "policy", "xaa_policy.created"},
		{`PUT /xaa/policies/<policy> {"name":"Q","idp_id":"<idp>"}`, "", "xaa_policy.updated"},
		{`DELETE /xaa/policies/<policy>`, "", "xaa_policy.deleted"},
		{`POST /xaa/subject-mappings {"idp_id":"<idp>","idp_subject":"s","local_user_id":"<user>"}`, "mapping", "subject_mapping.created"},
		{`DELETE /xaa/subject-mappings/<mapping>`, "", "subject_mapping.deleted"},
		{`DELETE /idps/<idp>`, "", "idp.deleted"},
		{`POST /keys/rotate`, "", "key.rotated"},
		{`POST /encryption/re-encrypt`, "", "encryption.reencrypted"},
		{`PATCH /settings/dcr {"mode":"admin_only"}`, "", "dcr.mode_updated"},
		{`PATCH /settings/dcr {}`, "", ""},
		{`DELETE /resources/mail`, "", "resource.deleted"},
		{`DELETE /broker-providers/git`, "", "broker_provider.deleted"},
		{`DELETE /users/<user>`, "", "user.deleted"},
		{`DELETE /clients/<client>`, "", "client.deleted"},
	} {
		for kind, id := range ids {
			test.call = strings.ReplaceAll(test.call, "<"+kind+">", id)
		}
		method, rest, _ := strings.Cut(test.call, " ")
		path, body, _ := strings.Cut(rest, " ")
		a.clock.Pass(1_000_000)
		status := 200
		switch {
		case method == "DELETE" && !strings.HasSuffix(path, "/tokens"), method == "PUT" && strings.Contains(path, "/connections/"):
			status = 204
		case method == "POST" && body != "":
			status = 201
		}
		reply := a.do(method, path, body, status)
		if secret, ok := reply["client_secret"].(string); ok {
			secrets = append(secrets, secret)
		}
		if test.as != "" {
			for _, name := range []string{"id", "client_id"} {
				if id, ok := reply[name].(string); ok {
					ids[test.as] = id
				}
			}
		}
		events := a.do("GET", "/audit?since="+a.clock.Now().UTC().Format("2006-01-02T15:04:05.999999Z"), "", 200)["events"].([]any)
		got := make([]string, 0, len(events))
		for _, row := range events {
			event := row.(map[string]any)
			got = append(got, event["action"].(string))
			if event["actor_id"] != "admin" || event["ip"] != "192.0.2.1" || event["detail"] == "" && event["client_id"] == "" {
				t.Errorf("%s: %v", test.call, event)
			}
		}
		if want := strings.Fields(test.want); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", test.call, got, want)
		}
	}
	all := mustJSON(t, a.do("GET", "/audit?limit=1000", "", 200))
	for _, secret := range append(secrets, hush, key, master) {
		if strings.Contains(all, secret) {
			t.Errorf("%s is in the feed", secret)
		}
	}
	if len(secrets) != 2 {
		t.Errorf("%d secrets", len(secrets))
	}
}
