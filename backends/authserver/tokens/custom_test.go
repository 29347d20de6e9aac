package tokens_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	rules "github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
)

// ruled returns a server with claim rules for its client and the resource mail, the facts that it reads, and the number
// of reads.
func ruled(t *testing.T, k authtest.Kernel) (s *server, facts *atomic.Pointer[rules.Facts], reads *atomic.Int64) {
	t.Helper()
	facts, reads = new(atomic.Pointer[rules.Facts]), new(atomic.Int64)
	facts.Store(&rules.Facts{
		Roles:      []string{"admin", "mail:reader"},
		Attributes: map[string][]string{"department": {"sales"}},
	})
	s = newServer(t, k, func(o *tokens.Options) {
		o.Facts = func(_ context.Context, user string) (*rules.Facts, error) {
			reads.Add(1)
			if user != "ann" {
				return new(rules.Facts), nil
			}
			return facts.Load(), nil
		}
	}).fill(t)
	var err error
	s.client, err = s.clients.Edit(t.Context(), s.client.ID, func(c *clients.Client) error {
		c.Metadata.Claims = []rules.Rule{
			{Claim: "department", From: "attributes.department", Scope: "write"},
			{Claim: "secret", From: "attributes.department", In: []string{rules.IDToken}},
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.mail, err = s.catalog.Edit(t.Context(), s.mail.ID, func(r *resources.Resource) error {
		r.Claims = []rules.Rule{{Claim: "roles", From: rules.Roles, Prefix: "mail:", Strip: true}}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return s, facts, reads
}

// custom returns the claims of a token that rules have made.
func custom(t *testing.T, text string) string {
	t.Helper()
	all := claims(t, text)
	return fmt.Sprint(all["roles"], " ", all["department"], " ", all["secret"])
}

func TestCustomClaims(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s, facts, reads := ruled(t, k)
		answer := s.start(t, s.client)
		if got := custom(t, answer.AccessToken); got != "[reader] sales <nil>" {
			t.Errorf("the token has %s", got)
		}
		// Introspection returns the claims, also when repeated.
		for range 2 {
			text, err := s.Introspect(t.Context(), s.client, answer.AccessToken, "")
			var response map[string]any
			if err := json.Unmarshal(text, &response); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if err != nil || fmt.Sprint(response["roles"], response["department"], response["active"],
				response["username"]) != "[reader]salestrueann@example.com" {
				t.Errorf("%s, error %v", text, err)
			}
		}
		// A refresh uses the current facts. With a smaller scope or for another resource, only the claims that belong
		// to it are included.
		facts.Store(&rules.Facts{Roles: []string{"mail:writer"}, Attributes: map[string][]string{"department": {"support"}}})
		answer, err := s.Refresh(t.Context(), tokens.Renewal{Client: s.client, Token: answer.Refresh, Scope: "read"})
		if err != nil {
			t.Fatal(err)
		}
		if got := custom(t, answer.AccessToken); got != "[writer] <nil> <nil>" {
			t.Errorf("after a refresh the token has %s", got)
		}
		if answer, err = s.Refresh(t.Context(),
			tokens.Renewal{Client: s.client, Token: answer.Refresh, Resources: []string{"files"}}); err != nil {
			t.Fatal(err)
		}
		if got := custom(t, answer.AccessToken); got != "<nil> support <nil>" {
			t.Errorf("for another resource the token has %s", got)
		}

		// No facts are read for a client's token for itself, nor for an exchanged machine token.
		before := reads.Load()
		own, err := s.Machine(t.Context(), s.client, []string{"read"}, []*resources.Resource{s.mail}, "")
		if err != nil || reads.Load() != before || custom(t, own.AccessToken) != "<nil> <nil> <nil>" {
			t.Errorf("the token of a client has %s, after %d reads of facts, error %v",
				custom(t, own.AccessToken), reads.Load()-before, err)
		}
		source, _, _, err := s.Live(t.Context(), s.start(t, s.client).AccessToken)
		if err != nil {
			t.Fatal(err)
		}
		swapped, _, err := s.Exchange(t.Context(), tokens.Order{
			Client: s.public, Subject: "ann", Scope: []string{"read"},
			Resources: []*resources.Resource{s.mail}, Life: time.Minute,
		}, source, nil)
		if err != nil || custom(t, swapped.AccessToken) != "[writer] <nil> <nil>" {
			t.Errorf("the exchanged token has %s, error %v", custom(t, swapped.AccessToken), err)
		}
	})
}

// TestCustomClaimsNeedUser checks that no facts are read if no rule applies: for another resource, or for a client that
// registered itself, even if its row has rules.
func TestCustomClaimsNeedUser(t *testing.T) {
	t.Parallel()
	s, _, reads := ruled(t, authtest.SQLite(t))
	var err error
	if s.public, err = s.clients.Edit(t.Context(), s.public.ID, func(c *clients.Client) error {
		c.Metadata.Claims = []rules.Rule{{Claim: "department", From: "attributes.department"}}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	g := s.grant(s.public)
	g.Resources = []string{s.files.ID}
	answer, err := s.Redeem(t.Context(), s.redemption(s.public, s.code(t, g)))
	if err != nil || reads.Load() != 0 || custom(t, answer.AccessToken) != "<nil> <nil> <nil>" {
		t.Errorf("the token has %s, after %d reads of facts, error %v", custom(t, answer.AccessToken), reads.Load(), err)
	}
	if text, err := s.Introspect(t.Context(), s.client, answer.AccessToken, ""); err != nil || text != nil {
		t.Errorf("%s, error %v", text, err)
	}
}
