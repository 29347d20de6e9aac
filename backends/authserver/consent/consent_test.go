package consent_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/consent"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
)

// TestChangedDocument checks that if the redirect URIs of a metadata document change, a new consent does not make an
// older consent valid again.
func TestChangedDocument(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		ctx := t.Context()
		consents := &consent.Consents{Server: k.Server}
		ann, err := (&users.Users{Server: k.Server}).Create(ctx, users.New{Email: "ann@example.com"}, "")
		if err != nil {
			t.Fatal(err)
		}
		c := &clients.Client{ID: "https://app.example/client.json", Source: clients.Document, AuthMethod: clients.MethodNone, Redirects: []string{"https://app.example/cb"}}
		if _, err := clients.New(k.Server, clients.Options{}).Create(ctx, c); err != nil {
			t.Fatal(err)
		}
		approve := func(scope ...string) {
			t.Helper()
			need := []consent.Need{{Resource: "files", Scope: scope}}
			if _, err := consents.Approve(ctx, ann.ID, c, need, need); err != nil {
				t.Fatal(err)
			}
		}
		granted := func(want ...string) {
			t.Helper()
			all, err := consents.Between(ctx, ann.ID, c)
			if err != nil || len(all) != 1 || !slices.Equal(all[0].Scope, want) {
				t.Errorf("%s, error %v, want %v", fmt.Sprint(all), err, want)
			}
		}
		approve("read", "write")
		approve("delete")
		granted("delete", "read", "write")
		c.Redirects = []string{"https://elsewhere.example/cb"}
		if all, err := consents.Between(ctx, ann.ID, c); err != nil || len(all) != 0 {
			t.Errorf("%v, error %v", all, err)
		}
		approve("read")
		granted("read")
	})
}
