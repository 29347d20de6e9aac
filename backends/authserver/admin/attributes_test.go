package admin_test

import (
	"encoding/json"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
)

// TestClaimRules checks that the administration API sets the claim rules of clients and resources, and the roles and
// attributes of users from which the claims are made.
func TestClaimRules(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		a := newAPI(t, k, "dcr: {mode: open}", nil)
		shown := func(reply map[string]any, member string) string {
			t.Helper()
			text, err := json.Marshal(reply[member])
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		const rules = `[{"claim":"roles","from":"roles","prefix":"shop:","strip_prefix":true},` +
			`{"claim":"dept","from":"attributes.department","in":["id_token"],"scope":"profile","type":"list"}]`
		id := a.do("POST", "/clients", `{"client_name":"M","redirect_uris":["https://m.example/cb"],"claim_rules":`+rules+`}`,
			201)["client_id"].(string)
		if got := a.do("GET", "/clients/"+id, "", 200); shown(got, "claim_rules") != rules {
			t.Errorf("%v", got)
		}
		a.do("PATCH", "/clients/"+id, `{"client_name":"N"}`, 200)
		if got := a.do("GET", "/clients/"+id, "", 200); shown(got, "claim_rules") != rules {
			t.Errorf("an unrelated change removes the rules: %v", got)
		}
		for _, bad := range []string{
			`[{"claim":"sub","from":"roles"}]`, `[{"claim":"Scope","from":"roles"}]`,
			`[{"claim":"a","from":"password"}]`, `[{"claim":"a","from":"roles","extra":1}]`, `{}`,
		} {
			a.do("PATCH", "/clients/"+id, `{"claim_rules":`+bad+`}`, 400)
			a.do("POST", "/clients", `{"client_name":"M","redirect_uris":["https://m.example/cb"],"claim_rules":`+bad+`}`, 400)
		}
		a.do("PATCH", "/clients/"+id, `{"claim_rules":[]}`, 200)
		if got := a.do("GET", "/clients/"+id, "", 200); got["claim_rules"] != nil {
			t.Errorf("the rules stay: %v", got)
		}

		resource := a.do("POST", "/resources",
			`{"slug":"files","uri":"https://files.example","claim_rules":[{"claim":"roles","from":"roles"}]}`, 201)
		if shown(resource, "claim_rules") != `[{"claim":"roles","from":"roles"}]` {
			t.Errorf("%v", resource)
		}
		a.do("PATCH", "/resources/files", `{"claim_rules":[{"claim":"roles","from":"roles","in":["id_token"]}]}`, 400)
		if got := a.do("PATCH", "/resources/files", `{"display_name":"Files"}`, 200); shown(got,
			"claim_rules") != `[{"claim":"roles","from":"roles"}]` {
			t.Errorf("%v", got)
		}
		if got := a.do("PATCH", "/resources/files", `{"claim_rules":[]}`, 200); got["claim_rules"] != nil {
			t.Errorf("%v", got)
		}

		user := a.do("POST", "/users", `{"email":"ann@example.com"}`, 201)["id"].(string)
		path := "/users/" + user + "/attributes"
		if got := a.do("GET", path, "", 200); shown(got, "groups")+shown(got, "roles")+shown(got, "attributes")+shown(got,
			"effective_roles") != "[][]{}[]" {
			t.Errorf("%v", got)
		}
		a.do("PUT", "/group-roles", `{"group":"staff","roles":["reader","admin"]}`, 200)
		got := a.do("PATCH", path, `{"groups":["staff/night"],"roles":["shop:buyer"],"attributes":{"department":["sales"]}}`,
			200)
		if shown(got, "effective_roles") != `["admin","reader","shop:buyer"]` ||
			shown(got, "attributes") != `{"department":["sales"]}` {
			t.Errorf("%v", got)
		}
		if got = a.do("PATCH", path, `{"roles":[]}`, 200); shown(got, "roles") != "[]" ||
			shown(got, "groups") != `["staff/night"]` {
			t.Errorf("%v", got)
		}
		a.do("PATCH", path, `{"roles":["a\nb"]}`, 422)
		a.do("PATCH", path, `{"attributes":{"a b":["c"]}}`, 422)
		a.do("PATCH", path, `{"email":"x@example.com"}`, 400)
		a.do("GET", "/users/nobody/attributes", "", 404)
		a.do("PATCH", "/users/nobody/attributes", `{"roles":[]}`, 404)
		if got := a.do("GET", "/group-roles", "",
			200); shown(got, "group_roles") != `[{"group":"staff","roles":["admin","reader"]}]` {
			t.Errorf("%v", got)
		}
		a.do("PUT", "/group-roles", `{"group":"staff"}`, 400)
		a.do("PUT", "/group-roles", `{"group":"","roles":[]}`, 422)
		a.do("PUT", "/group-roles", `{"group":"staff","roles":[]}`, 200)
		if got := a.do("GET", "/group-roles", "", 200); shown(got, "group_roles") != "[]" {
			t.Errorf("%v", got)
		}
	})
}
