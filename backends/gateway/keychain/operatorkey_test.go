package keychain

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
)

// TestOperatorKeysServeEveryUser checks that the operator's keys are tried after a user's own keys, and alone for users
// without any.
func TestOperatorKeysServeEveryUser(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	n.user(t, "alice")
	n.user(t, "bob")
	own := n.providerKey(t, "alice", "alpha", "sk-own")
	plain := testCatalog(t)
	cat, err := plain.With(catalog.Options{Overrides: map[string]catalog.Override{"alpha": {APIKey: "sk-operator"}}})
	if err != nil {
		t.Fatal(err)
	}
	bob := n.account(t, "bob")
	if r := bob.RoutingFor(plain, ""); r.Connected || len(r.Entries()) != 0 {
		t.Errorf("without the operator's key bob has %q", r.Entries())
	}
	r := bob.RoutingFor(cat, "")
	c, ok := r.Entry("alpha/small")
	if !r.Connected || !ok || len(c.Keys) != 1 || c.Keys[0].Secret != "sk-operator" || !c.Keys[0].OfOperator() || c.Keys[0].PublicID() != OperatorKey {
		t.Fatalf("%t, %+v", r.Connected, c)
	}
	if _, ok := r.Entry("beta/small"); ok {
		t.Error("a provider without a key is connected")
	}
	for _, e := range bob.table(cat, "") {
		if e.ProviderConnected != (e.Provider == "alpha") {
			t.Errorf("%+v", e)
		}
	}
	account := n.account(t, "alice")
	c, _ = account.RoutingFor(cat, "").Entry("alpha/small")
	if len(c.Keys) != 2 || c.Group(0) != 1 || c.Keys[0] != ownKey(own.ID, "sk-own") || c.Keys[1].Secret != "sk-operator" {
		t.Errorf("alice has %+v", c.Keys)
	}
	if c.Keys[1].ID != r.entries["alpha/small"].Keys[0].ID || c.Keys[1].Mine == r.entries["alpha/small"].Keys[0].Mine {
		t.Error("the two users have different keys, or one user's failures count for the other")
	}
	if strings.Contains(c.Keys[1].ID+c.Keys[1].Mine, "sk-operator") {
		t.Error("the key's id contains its secret")
	}
	// Users cannot probe or delete the operator's key.
	if _, _, err := account.Probe(cat, OperatorKey); err == nil {
		t.Error("the operator's key can be tried")
	}
	if _, _, err := account.Probe(cat, c.Keys[1].ID); err == nil {
		t.Error("the operator's key can be tried by its internal id")
	}
	wantRefusal(t, n.DeleteProviderKey(t.Context(), "alice", OperatorKey), 404, "not_found", "")
}
