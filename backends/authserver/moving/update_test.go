package moving_test

import (
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/moving"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// with applies a file with options.
func (g *target) with(read moving.Reader, file string, o moving.Options) map[string]moving.Line {
	g.t.Helper()
	lines := make(map[string]moving.Line)
	o.By = "admin"
	o.Tell = func(l moving.Line) error {
		lines[l.Where] = l
		return nil
	}
	if err := g.Apply(g.t.Context(), read, strings.NewReader(file), o); err != nil {
		g.t.Fatal(err)
	}
	return lines
}

// changed checks the outcome of a record, and which fields it changed.
func changed(t *testing.T, l moving.Line, fields string) {
	t.Helper()
	want := moving.Updated
	if fields == "" {
		want = moving.There
	}
	if l.Outcome != want || strings.Join(l.Changed, " ") != fields {
		t.Errorf("%+v, want %s of %q", l, want, fields)
	}
}

// TestUpdate checks that an import can update existing users and clients, and changes passwords only if requested.
func TestUpdate(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		g, ctx := newTarget(t, k), t.Context()
		file := realm(t)
		g.applies(moving.Keycloak, file, false)
		ann := g.signsIn("ann@example.com") // the hash of the file is replaced
		for _, l := range g.with(moving.Keycloak, file, moving.Options{Update: true}) {
			if l.Outcome != moving.There && l.Outcome != moving.Skipped && l.Outcome != moving.Refused {
				t.Errorf("nothing has changed: %+v", l)
			}
		}
		next := strings.NewReplacer(`"email": "ann@example.com", "emailVerified": true, "firstName": "Ann"`, `"email": "ann@example.net", "emailVerified": true, "firstName": "Anna"`,
			`"groups": ["/staff", "/staff/night"]`, `"groups": ["/staff"]`, `"shoe": ["42"]`, `"shoe": ["43"]`, `"shop": ["buyer"]`, `"shop": ["seller"]`,
			`"username": "bob@example.com", "enabled": false`, `"username": "bob@example.com", "enabled": true`,
			`"realmRoles": ["reader"]`, `"realmRoles": ["writer"]`,
			`"name": "The shop", "secret": "`+secret, `"name": "A shop", "secret": "another `+secret,
			`"redirectUris": ["/cb"`, `"redirectUris": ["/callback"`).Replace(file)
		dry := g.with(moving.Keycloak, next, moving.Options{Update: true, DryRun: true})
		if u, err := g.Users.Find(ctx, ann.ID); err != nil || u.Email != "ann@example.com" {
			t.Errorf("a dry run has changed %+v, %v", u, err)
		}
		lines := g.with(moving.Keycloak, next, moving.Options{Update: true})
		for _, all := range []map[string]moving.Line{dry, lines} {
			changed(t, all["users[0] ann"], "email name groups roles attributes")
			changed(t, all["users[1] bob@example.com"], "disabled")
			changed(t, all["clients[2] shop"], "client_name redirect_uris")
			changed(t, all["clients[3] app"], "")
			changed(t, all["group /staff"], "roles")
			changed(t, all["group /staff/night"], "")
		}
		u := g.signsIn("ann@example.net")
		given, err := g.Users.Given(ctx, u.ID)
		if err != nil || u.ID != ann.ID || u.Name != "Anna Other" || !u.EmailVerified || !slices.Equal(u.Groups, []string{"staff"}) ||
			!slices.Equal(given.Roles, []string{"admin", "shop:seller"}) || !slices.Equal(given.Attributes["shoe"], []string{"43"}) {
			t.Errorf("%+v, %+v, %v", u, given, err)
		}
		g.signsIn("bob@example.com")
		if shop := g.authenticates(); shop.Name != "A shop" || !slices.Equal(shop.Redirects, []string{"https://shop.example/callback"}) {
			t.Errorf("%+v", shop)
		}
		if roles, err := g.Users.RolesOfGroup(ctx, "staff"); err != nil || !slices.Equal(roles, []string{"writer"}) {
			t.Errorf("%v, %v", roles, err)
		}
		if n := k.Events.Count("client.updated"); n != 1 {
			t.Errorf("%d events", n)
		}

		// Passwords and secrets are only updated if Secrets is set.
		if err := authtest.SetPassword(ctx, g.Users, u.ID, "another password", ""); err != nil {
			t.Fatal(err)
		}
		changed(t, g.with(moving.Keycloak, next, moving.Options{Update: true})["users[0] ann"], "")
		lines = g.with(moving.Keycloak, next, moving.Options{Update: true, Secrets: true})
		changed(t, lines["users[0] ann"], "password")
		changed(t, lines["clients[2] shop"], "client_secret")
		g.signsIn("ann@example.net")
		basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("shop:"+url.QueryEscape("another "+secret)))
		if _, err := g.Clients.Authenticate(ctx, []string{basic}, kernel.Form{}); err != nil {
			t.Errorf("the new secret: %v", err)
		}
		changed(t, g.with(moving.Keycloak, next, moving.Options{Update: true, Secrets: true})["clients[2] shop"], "")

		if _, err := g.Clients.SetStatus(ctx, "shop", clients.Revoked); err != nil {
			t.Fatal(err)
		}
		if l := g.with(moving.Keycloak, file, moving.Options{Update: true})["clients[2] shop"]; l.Outcome != moving.Refused {
			t.Errorf("a client that was revoked: %+v", l)
		}
	})
}

// TestUpdateFromCSV checks that only fields that have a column in the file are changed.
func TestUpdateFromCSV(t *testing.T) {
	t.Parallel()
	g := newTarget(t, authtest.SQLite(t))
	update := moving.Options{Update: true}
	g.with(moving.CSV, "email,email_verified,id,name,groups,roles,attributes.shoe,attributes.hat\nann@example.com,true,a1,Ann,x;y,reader,42,7\n", update)
	changed(t, g.with(moving.CSV, "email\nann@example.com\n", update)["line 2 ann@example.com"], "")
	changed(t, g.with(moving.CSV, "email,groups,roles\nann@example.com,y;x,reader\n", update)["line 2 ann@example.com"], "")
	changed(t, g.with(moving.CSV, "email,name,attributes.shoe,attributes.coat\nann@example.com,,,9\n", update)["line 2 ann@example.com"], "attributes")
	changed(t, g.with(moving.CSV, "email,id,groups,disabled\nann@example.net,a1,,true\n", update)["line 2 ann@example.net"], "email groups disabled")
	u, err := g.Users.Find(t.Context(), "a1")
	if err != nil {
		t.Fatal(err)
	}
	given, err := g.Users.Given(t.Context(), "a1")
	if err != nil || u.Email != "ann@example.net" || u.EmailVerified || u.Name != "Ann" || len(u.Groups) != 0 || u.Active() || !slices.Equal(given.Roles, []string{"reader"}) ||
		len(given.Attributes) != 2 || given.Attributes["hat"][0] != "7" || given.Attributes["coat"][0] != "9" {
		t.Errorf("%+v, %+v, %v", u, given, err)
	}
	g.with(moving.CSV, "email,id\nbob@example.com,b1\n", update)
	if l := g.with(moving.CSV, "email,id\nbob@example.com,a1\n", update)["line 2 bob@example.com"]; l.Outcome != moving.Refused {
		t.Errorf("%+v", l)
	}
	if l := g.with(moving.CSV, "email,id\nnew@example.com,a1\n", moving.Options{})["line 2 new@example.com"]; l.Outcome != moving.Refused {
		t.Errorf("%+v", l)
	}
	// A code app is added only if passwords are updated, too.
	const app = "email,totp\nbob@example.com,JBSWY3DPEHPK3PXPJBSWY3DP\n"
	changed(t, g.with(moving.CSV, app, update)["line 2 bob@example.com"], "")
	changed(t, g.with(moving.CSV, app, moving.Options{Update: true, Secrets: true})["line 2 bob@example.com"], "totp")
	changed(t, g.with(moving.CSV, app, moving.Options{Update: true, Secrets: true})["line 2 bob@example.com"], "")
}

// TestCompositeRoles checks that roles that consist of other roles are resolved, also if they contain each other.
func TestCompositeRoles(t *testing.T) {
	t.Parallel()
	const roles = `"roles": {"realm": [
		{"name": "default-roles-shop", "composites": {"realm": ["offline_access", "customer"], "client": {"account": ["view-profile"]}}},
		{"name": "boss", "composite": true, "composites": {"realm": ["manager"], "client": {"shop": ["owner"]}}},
		{"name": "manager", "composites": {"realm": ["clerk", "boss"]}}, {"name": "clerk"}],
		"client": {"shop": [{"name": "owner", "composites": {"client": {"shop": ["seller"], "realm-management": ["manage-users"]}}}], "none": []}, "other": {"x": [1]}}`
	const people = `"groups": [{"name": "g", "path": "/g", "clientRoles": {"shop": ["owner"]}}], "users": [
		{"username": "ann@example.com", "realmRoles": ["default-roles-shop", "boss"]}, {"username": "bob@example.com", "realmRoles": ["clerk"]}]`
	g := newTarget(t, authtest.SQLite(t))
	want := []string{"boss", "clerk", "customer", "manager", "shop:owner", "shop:seller"}
	lines := g.applies(moving.Keycloak, "{"+people+", "+roles+"}", false) // roles may follow the users in the file
	ann, err := g.Users.FindByEmail(t.Context(), "ann@example.com")
	if err != nil {
		t.Fatal(err)
	}
	if given, err := g.Users.Given(t.Context(), ann.ID); err != nil || !slices.Equal(given.Roles, want) || len(lines["users[0] ann@example.com"].Notes) != 0 {
		t.Errorf("%v, want %v, %v, %+v", given.Roles, want, err, lines)
	}
	if got, err := g.Users.RolesOfGroup(t.Context(), "g"); err != nil || !slices.Equal(got, []string{"shop:owner", "shop:seller"}) {
		t.Errorf("the group has %v, %v", got, err)
	}

	// A pipe can be read only once.
	given := func(file string) (roles []string, notes int) {
		err := moving.Keycloak(struct{ *pipe }{&pipe{strings.NewReader(file)}}, func(r moving.Record) error {
			if r.User != nil && r.User.Email == "ann@example.com" {
				roles, notes = r.User.Given.Roles, len(r.Notes)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return roles, notes
	}
	if got, notes := given("{" + roles + ", " + people + "}"); !slices.Equal(got, want) || notes != 0 {
		t.Errorf("%v, %d notes", got, notes)
	}
	if got, notes := given("{" + people + ", " + roles + "}"); !slices.Equal(got, []string{"boss"}) || notes != 1 {
		t.Errorf("%v, %d notes", got, notes)
	}
}

// pipe can be read but does not support seeking.
type pipe struct{ from *strings.Reader }

func (p *pipe) Read(b []byte) (int, error) { return p.from.Read(b) }

// TestLinksAreTaken checks that accounts at providers and planned deletions are imported from a realm and from an
// export.
func TestLinksAreTaken(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		src, ctx := newTarget(t, k), t.Context()
		const file = `{"users": [{"username": "ann@example.com", "federatedIdentities": [{"identityProvider": "corp", "userId": "s-1", "userName": "ann"}, {"identityProvider": "github", "userId": "7"}]},
			{"username": "bob@example.com", "federatedIdentities": [{"identityProvider": "corp", "userId": "s-1"}]}],
			"identityProviders": [{"alias": "corp", "config": {"issuer": "https://idp.example"}}, {"alias": "github", "config": {}}]}`
		lines := src.applies(moving.Keycloak, file, false)
		if l := lines["users[0] ann@example.com"]; l.Outcome != moving.Taken || len(l.Notes) != 1 || !strings.Contains(l.Notes[0], "github") {
			t.Errorf("%+v", l)
		}
		if l := lines["users[1] bob@example.com"]; l.Outcome != moving.Refused || !strings.Contains(l.Why, "https://idp.example") {
			t.Errorf("%+v", l)
		}
		ann, err := src.Users.FindByEmail(ctx, "ann@example.com")
		if err != nil {
			t.Fatal(err)
		}
		deletionTime := k.Clock.Now().Add(72 * time.Hour).Truncate(time.Second)
		if err := src.Users.PlanDeletion(ctx, ann.ID, deletionTime); err != nil {
			t.Fatal(err)
		}
		var exported strings.Builder
		if _, err := src.Export(ctx, &exported); err != nil {
			t.Fatal(err)
		}

		dst := newTarget(t, authtest.SQLite(t))
		position := "line 1 ann@example.com"
		if l := dst.applies(moving.Tollgate, exported.String(), false)[position]; l.Outcome != moving.Taken {
			t.Fatalf("%+v: %s", l, exported.String())
		}
		want := []upstreams.Link{{Issuer: "https://idp.example", Subject: "s-1", Username: "ann"}}
		if links, err := dst.Upstreams.Links(ctx, ann.ID); err != nil || !slices.Equal(links, want) {
			t.Errorf("%+v, %v", links, err)
		}
		if planned, err := dst.Users.DeletionOf(ctx, ann.ID); err != nil || !planned.Equal(deletionTime) {
			t.Errorf("to be deleted at %v, want %v, %v", planned, deletionTime, err)
		}
		dst.Clock.Pass(73 * time.Hour)
		if n, err := dst.Users.SweepDeleted(ctx); err != nil || n != 1 {
			t.Errorf("%d deleted, %v", n, err)
		}
		if _, err := dst.Users.Find(ctx, ann.ID); !users.IsNone(err) {
			t.Errorf("a user with a planned deletion remains: %v", err)
		}

		// An existing user gets the imported connections, and keeps the others.
		dst.applies(moving.CSV, "email,id\nann@example.com,"+ann.ID+"\n", false)
		link := upstreams.Link{Issuer: "https://other.example", Subject: "x"}
		if err := dst.Write(ctx, func(c store.Conn) error { return dst.Upstreams.PutLinks(c, ann.ID, []upstreams.Link{link}) }); err != nil {
			t.Fatal(err)
		}
		changed(t, dst.with(moving.Tollgate, exported.String(), moving.Options{Update: true})[position], "identities")
		changed(t, dst.with(moving.Tollgate, exported.String(), moving.Options{Update: true})[position], "")
		if links, err := dst.Upstreams.Links(ctx, ann.ID); err != nil || len(links) != 2 {
			t.Errorf("%+v, %v", links, err)
		}
		bad := `{"user":{"email":"x@example.com","identities":[{"issuer":"nowhere","subject":"s"}]}}`
		if l := dst.applies(moving.Tollgate, bad, false)["line 1 x@example.com"]; l.Outcome != moving.Refused {
			t.Errorf("%+v", l)
		}
		if _, err := dst.Users.Hash(ctx, "nobody"); !users.IsNone(err) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%v", err)
		}
	})
}
