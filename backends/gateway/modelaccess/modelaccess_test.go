package modelaccess

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var databases = storetest.Fixture{Schemas: []store.Schema{schema.Gateway()}}

// TestAccess checks who may use a model while keys and limits change.
func TestAccess(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		ring, err := keyring.NewAES([]byte("0123456789abcdef0123456789abcdef"))
		if err != nil {
			t.Fatal(err)
		}
		people, err := keychain.New(db, ring, spending.NewLedger(db, zap.NewNop(), time.Now), zap.NewNop(), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(people.Close)
		cat, err := catalog.Embedded().With(catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		check := func(name, model, want string) {
			t.Helper()
			lists, err := Read(t.Context(), db, cat, now)
			if err != nil {
				t.Fatal(err)
			}
			m, ok := cat.Model("openai", model)
			if !ok {
				t.Fatalf("there is no model %s", model)
			}
			a := lists.To(m)
			if got := fmt.Sprintf("%v %t %d teams %d users", a.Keys, a.Organisation, len(a.RefusedTeams), a.RefusedUsers); got != want {
				t.Errorf("%s: %s: %s, want %s", name, model, got, want)
			}
		}
		check("nothing is there", "gpt-5.4-nano", "{false 0 0 0} true 0 teams 0 users")

		team, err := people.AddTeam(t.Context(), "red")
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"ada", "ben", "cid"} {
			if err := people.AddUser(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		for i, owner := range []keychain.Owner{
			keychain.TheOrganisation, {Kind: keychain.OnTeam, ID: team.ID}, {Kind: keychain.OnUser, ID: "ada"}, {Kind: keychain.OnUser, ID: "ben"},
		} {
			if _, err := people.AddKeyOf(t.Context(), owner, "openai", fmt.Sprintf("sk-%d-0123456789", i), "", func(string) bool { return true }); err != nil {
				t.Fatal(err)
			}
		}
		check("keys are there", "gpt-5.4-nano", "{false 1 1 2} true 0 teams 0 users")
		cat.OwnKeys = catalog.OwnKeysNever
		check("own keys do not count", "gpt-5.4-nano", "{false 1 1 0} true 0 teams 0 users")
		cat.OwnKeys = catalog.OwnKeysOnly
		check("own keys alone count", "gpt-5.4-nano", "{false 0 0 2} true 0 teams 0 users")
		cat.OwnKeys = catalog.OwnKeysFirst

		limit := func(kind, holder string, models ...string) {
			t.Helper()
			if _, err := people.SetLimits(t.Context(), kind, holder, keychain.Limits{AllowedModels: models}, cat); err != nil {
				t.Fatal(err)
			}
		}
		limit(keychain.OnTeam, team.ID, "openai/*")
		limit(keychain.OnTeamOwn, team.ID, "openai/gpt-5.4-mini")
		limit(keychain.OnUser, "ada", "keychain-low")
		limit(keychain.OnUser, "ben", "keychain-low")
		check("lists of a team, its administrators and users", "gpt-5.4-nano", "{false 1 1 2} true 1 teams 0 users")
		check("lists of a team, its administrators and users", "gpt-5.4-mini", "{false 1 1 2} true 0 teams 2 users")
		limit(keychain.OnTeam, team.ID, "groq/*")
		check("both lists of a team refuse", "gpt-5.4-nano", "{false 1 1 2} true 1 teams 0 users")
		limit(keychain.OnOrganisation, keychain.Organisation, "openai/gpt-5.4-mini")
		check("the organisation refuses", "gpt-5.4-nano", "{false 1 1 2} false 1 teams 0 users")

		raise := keychain.Raise{Until: now.Add(time.Hour), Limits: keychain.Limits{AllowedModels: []string{"openai/*"}}}
		if err := people.SetRaise(t.Context(), keychain.OnUser, "ada", &raise, cat); err != nil {
			t.Fatal(err)
		}
		check("a raise", "gpt-5.4-mini", "{false 1 1 2} true 1 teams 1 users")
		now = now.Add(2 * time.Hour)
		check("the raise is over", "gpt-5.4-mini", "{false 1 1 2} true 1 teams 2 users")
	})
}
