package clients_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const day = 24 * time.Hour

// selfish registers clients by dynamic registration and remembers the ids of those that should still exist.
type selfish struct {
	*clients.Clients
	k   authtest.Kernel
	ids map[string]string // by name
}

func newSelfish(k authtest.Kernel, o clients.Options) *selfish {
	o.Mode, o.Hasher, o.Grants = clients.Open, quick, []string{clients.GrantCode, clients.GrantRefresh, clients.GrantClient}
	return &selfish{clients.New(k.Server, o), k, map[string]string{}}
}

func (s *selfish) register(t *testing.T, name, more string) (token string) {
	t.Helper()
	c, _, token, err := s.Register(t.Context(), []byte(`{"client_name":"`+name+`","redirect_uris":["https://c.example/cb"],"token_endpoint_auth_method":"none"`+more+`}`))
	if err != nil {
		t.Fatal(err)
	}
	s.ids[name] = c.ID
	return token
}

// do runs a statement with a client's id as its only parameter.
func (s *selfish) do(t *testing.T, name, statement string) {
	t.Helper()
	if err := s.k.Write(t.Context(), func(c store.Conn) error {
		_, err := c.Exec(statement, s.ids[name])
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// sweep checks that a sweep removes exactly the clients with the given names.
func (s *selfish) sweep(t *testing.T, removed ...string) {
	t.Helper()
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := s.SweepUnused(t.Context()); n != len(removed) || err != nil {
		t.Errorf("%d were removed, want %v, error %v", n, removed, err)
	}
	for _, name := range removed {
		if _, err := s.Find(t.Context(), s.ids[name]); !errors.Is(err, clients.ErrUnknown) {
			t.Errorf("%s is left: %v", name, err)
		}
		delete(s.ids, name)
	}
	for name, id := range s.ids {
		if _, err := s.Find(t.Context(), id); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnused checks that a self-registered client is removed a month after its registration if it was never used, and
// otherwise half a year after its last use. A client that holds something, or that an administrator has created or
// changed, is kept.
func TestUnused(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		ctx := t.Context()
		s := newSelfish(k, clients.Options{UnusedLife: 30 * day, IdleLife: 180 * day, DefaultScope: []string{"read"}})
		adminClient := &clients.Client{Name: "made", AuthMethod: clients.MethodNone, Source: clients.Admin}
		if _, err := s.Create(ctx, adminClient); err != nil {
			t.Fatal(err)
		}
		s.ids["made"] = adminClient.ID
		token := s.register(t, "managed", "")
		token2 := s.register(t, "unused", "")
		for _, name := range []string{"came", "consent", "family", "issued", "runtime", "policy", "stopped"} {
			s.register(t, name, "")
		}
		s.register(t, "alone", `,"grant_types":["authorization_code","client_credentials"],"token_endpoint_auth_method":"client_secret_basic"`)
		if _, err := s.Edit(ctx, s.ids["alone"], func(c *clients.Client) error { c.Scope = []string{"x"}; return nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SetStatus(ctx, s.ids["stopped"], clients.Suspended); err != nil {
			t.Fatal(err)
		}
		s.do(t, "none", "INSERT INTO authserver_users (id, email, email_key, name, created_at, updated_at) VALUES ('ann', 'a', 'a', ?, 0, 0)")
		s.do(t, "none", "INSERT INTO authserver_idps (id, name, issuer, enabled, created_at, updated_at) VALUES ('idp', ?, 'https://idp.example', 1, 0, 0)")
		s.do(t, "consent", "INSERT INTO authserver_consents (id, user_id, client_id, resource_id, scope, created_at, updated_at) VALUES ('o', 'ann', ?, '', '', 0, 0)")
		s.do(t, "family", "INSERT INTO authserver_families (id, client_id, user_id, granted, present, rotated_at, created_at, expires_at) VALUES ('f', ?, 'ann', '{}', '', 0, 0, 0)")
		s.do(t, "issued", "INSERT INTO authserver_issuances (jti, client_id, issued_at, expires_at) VALUES ('j', ?, 0, 0)")
		s.do(t, "runtime", `INSERT INTO authserver_resources (id, slug, kind, policy, created_at, updated_at) VALUES ('r', 'r', 'mint', '{"runtime":{"client_ids":["' || ? || '"]}}', 0, 0)`)
		s.do(t, "policy", `INSERT INTO authserver_xaa_policies (id, name, idp_id, client_ids, scopes, resources, enabled, created_at, updated_at) VALUES ('p', '', 'idp', '["' || ? || '"]', '[]', '[]', 1, 0, 0)`)

		k.Clock.Pass(29 * day)
		s.sweep(t)
		for range 3 {
			if _, err := s.Current(ctx, s.ids["came"]); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Manages(ctx, s.ids["managed"], token); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Manages(ctx, s.ids["unused"], token); err == nil {
			t.Error("a token of another client was accepted")
		}
		s.sweep(t)
		k.Clock.Pass(2 * day)
		unused := s.ids["unused"]
		s.sweep(t, "unused")
		_, err := s.Manages(ctx, unused, token2)
		if refusal, ok := apierror.From(err); !ok || refusal.Status != http.StatusUnauthorized {
			t.Errorf("managing a removed client: %v", err)
		}
		k.Clock.Pass(177 * day)
		s.sweep(t)
		if _, err := s.Current(ctx, s.ids["came"]); err != nil {
			t.Fatal(err)
		}
		s.sweep(t)
		k.Clock.Pass(3 * day)
		s.sweep(t, "managed")
		k.Clock.Pass(180 * day)
		s.sweep(t, "came")
		s.do(t, "consent", "DELETE FROM authserver_consents WHERE client_id = ?")
		s.sweep(t, "consent")
		if n := k.Events.Count("client.deleted"); n != 4 {
			t.Errorf("%d events", n)
		}
		if e := k.Events.All()[0]; e.Client != unused || strings.Join(e.Detail, " ") != "source dcr reason never_used" || e.Actor != "" {
			t.Errorf("%+v", e)
		}
	})
}

// TestLastUseWrittenHourly checks that the use of a client is written at most once an hour.
func TestLastUseWrittenHourly(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		ctx := context.WithoutCancel(t.Context())
		s := newSelfish(k, clients.Options{})
		s.register(t, "one", "")
		seen := func() time.Time {
			t.Helper()
			for range 5 {
				if _, err := s.Current(ctx, s.ids["one"]); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			c, err := s.Find(ctx, s.ids["one"])
			if err != nil {
				t.Fatal(err)
			}
			return c.SeenAt
		}
		first := k.Clock.Now()
		if got := seen(); !got.Equal(first) {
			t.Errorf("%v, want %v", got, first)
		}
		k.Clock.Pass(59 * time.Minute)
		if got := seen(); !got.Equal(first) {
			t.Errorf("written after less than an hour: %v", got)
		}
		k.Clock.Pass(time.Minute)
		if got := seen(); !got.Equal(k.Clock.Now()) {
			t.Errorf("%v, want %v", got, k.Clock.Now())
		}
		k.Clock.Pass(10_000 * day)
		s.sweep(t) // lifetimes of 0 keep all clients
	})
}

// TestTooManyUnused checks that if there are too many self-registered clients, those whose last use is the longest ago
// are removed early, but none that was used a moment ago.
func TestTooManyUnused(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newSelfish(k, clients.Options{UnusedLife: 30 * day, IdleLife: 180 * day, MaxSelfRegistered: 6})
		now := func(name string) {
			if _, err := s.Current(t.Context(), s.ids[name]); err != nil {
				t.Fatal(err)
			}
		}
		s.register(t, "came", "")
		now("came")
		for i := range 5 {
			s.register(t, fmt.Sprint("early", i), "")
			k.Clock.Pass(time.Second)
		}
		s.sweep(t)
		k.Clock.Pass(3 * time.Hour)
		for i := range 3 {
			s.register(t, fmt.Sprint("late", i), "")
		}
		now("early0")
		s.sweep(t, "early1", "early2", "early3")
		for i := range 6 {
			s.register(t, fmt.Sprint("later", i), "")
		}
		s.sweep(t, "early4", "came")
		if e := k.Events.All()[0]; strings.Join(e.Detail, " ") != "source dcr reason too_many" {
			t.Errorf("%+v", e)
		}
	})
}
