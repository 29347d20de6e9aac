package users_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		p, ctx := newPeople(t, db), t.Context()
		ann, err := p.Create(ctx, users.New{Email: "ann@example.com", Groups: []string{"staff/night/one", "guests"}}, "admin")
		if err != nil {
			t.Fatal(err)
		}
		bob, err := p.Create(ctx, users.New{Email: "bob@example.com", Groups: []string{"staffers"}}, "admin")
		if err != nil {
			t.Fatal(err)
		}
		if f, err := p.Facts(ctx, ann.ID); err != nil || len(f.Groups) != 2 || len(f.Roles)+len(f.Attributes) != 0 {
			t.Fatalf("%+v, error %v", f, err)
		}
		for _, g := range []users.GroupRoles{
			{Group: "staff", Roles: []string{"reader", "writer"}},
			{Group: "staff/night", Roles: []string{"guard"}},
			{Group: "night", Roles: []string{"none"}},
		} {
			if err := p.SetGroupRoles(ctx, g, "admin"); err != nil {
				t.Fatal(err)
			}
		}
		roles, attributes := []string{"writer", "admin"}, map[string][]string{"department": {"sales"}}
		u, given, err := p.Regroup(ctx, ann.ID, nil, &roles, &attributes, "admin")
		if err != nil || u.UpdatedAt <= ann.UpdatedAt || len(u.Groups) != 2 || !slices.Equal(given.Roles, roles) {
			t.Fatalf("%+v, %+v, error %v", u, given, err)
		}
		f, err := p.Facts(ctx, ann.ID)
		if err != nil || strings.Join(f.Roles, " ") != "admin guard reader writer" ||
			f.Attributes["department"][0] != "sales" || len(f.Groups) != 2 {
			t.Errorf("%+v, error %v", f, err)
		}
		if f, err := p.Facts(ctx, bob.ID); err != nil || len(f.Roles) != 0 {
			t.Errorf("Bob has %+v, error %v", f, err)
		}

		// Omitted fields keep their values, and a group whose roles were removed gives no roles.
		none := []string{}
		if _, given, err = p.Regroup(ctx, ann.ID, nil, &none, nil, "admin"); err != nil || len(given.Roles) != 0 ||
			len(given.Attributes) != 1 {
			t.Errorf("%+v, error %v", given, err)
		}
		if err := p.SetGroupRoles(ctx, users.GroupRoles{Group: "staff"}, "admin"); err != nil {
			t.Fatal(err)
		}
		if f, err := p.Facts(ctx, ann.ID); err != nil || strings.Join(f.Roles, " ") != "guard" {
			t.Errorf("%+v, error %v", f, err)
		}
		if list, err := p.GroupRoles(ctx); err != nil || len(list) != 2 || list[0].Group != "night" {
			t.Errorf("%+v, error %v", list, err)
		}

		// Invalid values change nothing.
		lines, twice := []string{"a\nb"}, []string{"a", "a"}
		strange := map[string][]string{"a b": {"c"}}
		for name, fault := range map[string]func() error{
			"groups":     func() error { _, _, err := p.Regroup(ctx, ann.ID, &lines, nil, nil, "admin"); return err },
			"roles":      func() error { _, _, err := p.Regroup(ctx, ann.ID, nil, &twice, nil, "admin"); return err },
			"attributes": func() error { _, _, err := p.Regroup(ctx, ann.ID, nil, &roles, &strange, "admin"); return err },
			"a group":    func() error { return p.SetGroupRoles(ctx, users.GroupRoles{Roles: roles}, "admin") },
			"its roles":  func() error { return p.SetGroupRoles(ctx, users.GroupRoles{Group: "x", Roles: lines}, "admin") },
		} {
			if fault() == nil {
				t.Errorf("%s are accepted", name)
			}
		}
		if given, err := p.Given(ctx, ann.ID); err != nil || len(given.Roles) != 0 {
			t.Errorf("%+v, error %v", given, err)
		}
		if _, _, err := p.Regroup(ctx, "nobody", nil, &roles, nil, "admin"); !users.IsNone(err) {
			t.Errorf("of an unknown user: %v", err)
		}

		// The facts are deleted with the user.
		if err := p.Delete(ctx, ann.ID, "admin"); err != nil {
			t.Fatal(err)
		}
		if f, err := p.Facts(ctx, ann.ID); err != nil || len(f.Groups)+len(f.Roles)+len(f.Attributes) != 0 {
			t.Errorf("%+v, error %v", f, err)
		}
		if given, err := p.Given(ctx, ann.ID); err != nil || len(given.Attributes) != 0 {
			t.Errorf("%+v, error %v", given, err)
		}
	})
}
