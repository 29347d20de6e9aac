package keychain

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// limitsTo returns the edit that replaces all limits.
func limitsTo(limits Limits) func(*Limits) { return func(l *Limits) { *l = limits } }

// tightLimits returns limits of every kind, and the change by which the operator imposes them.
func tightLimits(now time.Time) (Limits, KeyChange) {
	rate, usd, tokens, end := int64(5), spending.MicroUSD(1_000_000), int64(1000), now.Add(time.Hour).UTC().Truncate(time.Microsecond)
	l := Limits{
		RateLimitPerMinute: &rate, ExpiresAt: &end, AllowedModels: []string{"alpha/*"}, Budgets: Budgets{USDPerDay: &usd, TokensPerMonth: &tokens},
	}
	return l, KeyChange{Impose: true, Limits: limitsTo(l)}
}

// TestUserCannotLiftImposedLimits lets users try everything that they can do to escape exhausted limits that the
// operator has imposed. They use another node than the operator.
func TestUserCannotLiftImposedLimits(t *testing.T) {
	t.Parallel()
	wide := func() KeyOptions {
		rate, usd, tokens, end := int64(1_000_000), spending.MicroUSD(1_000_000_000), int64(1_000_000_000), start.AddDate(50, 0, 0)
		return KeyOptions{Limits: Limits{RateLimitPerMinute: &rate, ExpiresAt: &end, AllowedModels: []string{"*"}, Budgets: Budgets{
			USDPerDay: &usd, USDPerMonth: &usd, TokensPerDay: &tokens, TokensPerMonth: &tokens,
		}}}
	}
	mustKey := func(t *testing.T, key *NewKey, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return key.Key
	}
	// A trick returns the keys that the user has after it.
	tricks := map[string]func(t *testing.T, n *node, user string, key *NewKey) []string{
		"null for all": func(t *testing.T, n *node, user string, key *NewKey) []string {
			_, err := n.UpdateKey(t.Context(), user, key.ID, KeyChange{Limits: limitsTo(Limits{})})
			return []string{mustKey(t, key, err)}
		},
		"wider ones": func(t *testing.T, n *node, user string, key *NewKey) []string {
			_, err := n.UpdateKey(t.Context(), user, key.ID, KeyChange{Limits: limitsTo(wide().Limits)})
			return []string{mustKey(t, key, err)}
		},
		"a second key": func(t *testing.T, n *node, user string, key *NewKey) []string {
			second, err := n.CreateKey(t.Context(), user, KeyOptions{})
			return []string{key.Key, mustKey(t, second, err)}
		},
		"a second key with wide limits": func(t *testing.T, n *node, user string, _ *NewKey) []string {
			second, err := n.CreateKey(t.Context(), user, wide())
			return []string{mustKey(t, second, err)}
		},
		"revoke and make another": func(t *testing.T, n *node, user string, key *NewKey) []string {
			if err := n.RevokeKey(t.Context(), user, key.ID); err != nil {
				t.Fatal(err)
			}
			second, err := n.CreateKey(t.Context(), user, KeyOptions{})
			return []string{mustKey(t, second, err)}
		},
		"replace the primary key twice": func(t *testing.T, n *node, user string, _ *NewKey) []string {
			_, err := n.RegenerateKey(t.Context(), user)
			if err != nil {
				t.Fatal(err)
			}
			second, err := n.RegenerateKey(t.Context(), user)
			return []string{mustKey(t, second, err)}
		},
		"revoke and replace": func(t *testing.T, n *node, user string, key *NewKey) []string {
			if err := n.RevokeKey(t.Context(), user, key.ID); err != nil {
				t.Fatal(err)
			}
			second, err := n.RegenerateKey(t.Context(), user)
			return []string{mustKey(t, second, err)}
		},
		"a key of a key of a key": func(t *testing.T, n *node, user string, key *NewKey) []string {
			for range 3 {
				next, err := n.CreateKey(t.Context(), user, KeyOptions{})
				if err == nil {
					err = n.RevokeKey(t.Context(), user, key.ID)
				}
				mustKey(t, next, err)
				key = next
			}
			return []string{key.Key}
		},
		"sign in again": func(t *testing.T, n *node, user string, key *NewKey) []string {
			_, fresh, created, err := n.SignIn(t.Context(), Arrival{ID: user}, NewUsers{})
			if err != nil || created || fresh != nil {
				t.Fatalf("created %t, %+v, error %v", created, fresh, err)
			}
			return []string{key.Key}
		},
		"revoke all and sign in again": func(t *testing.T, n *node, user string, key *NewKey) []string {
			if err := n.RevokeKey(t.Context(), user, key.ID); err != nil {
				t.Fatal(err)
			}
			_, fresh, _, err := n.SignIn(t.Context(), Arrival{ID: user}, NewUsers{})
			if err != nil || fresh != nil {
				t.Fatalf("%+v, error %v", fresh, err)
			}
			return nil
		},
		"come back after the account is deleted": func(t *testing.T, n *node, user string, _ *NewKey) []string {
			// No route deletes accounts. A deletion would at least revoke the keys.
			n.sql(t, `UPDATE gateway_keys SET revoked_at = 1, is_primary = 0 WHERE user_id = ?`, user)
			if _, _, _, err := n.SignIn(t.Context(), Arrival{ID: user}, NewUsers{}); err != nil {
				t.Fatal(err)
			}
			second, err := n.CreateKey(t.Context(), user, KeyOptions{})
			return []string{mustKey(t, second, err)}
		},
	}
	onBoth(t, func(t *testing.T, p cluster) {
		operatorNode, userNode := p.start(t), p.start(t)
		usage := spending.NewLog(operatorNode.ledger, operatorNode.KeyUses(), zap.NewNop()).Start()
		defer func() { _ = usage.Close(t.Context()) }()
		impose := func(t *testing.T, kind, user string, key *NewKey, change KeyChange) {
			t.Helper()
			holder := map[string]string{OnUser: user, OnOrganisation: Organisation}[kind]
			if kind == OnTeam || kind == OnTeamOwn {
				team, err := operatorNode.AddTeam(t.Context(), key.ID)
				if err == nil {
					err = operatorNode.SetMember(t.Context(), team.ID, user, Membership{})
				}
				if err != nil {
					t.Fatal(err)
				}
				holder = team.ID
			}
			var err error
			if kind == OnKey {
				_, err = operatorNode.UpdateKey(t.Context(), user, key.ID, change)
			} else {
				_, err = operatorNode.Impose(t.Context(), kind, holder, change)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, kind := range limitHolders { // the organisation comes last, because its limits bind all users
			for name, trick := range tricks {
				t.Run(kind+"/"+name, func(t *testing.T) {
					user := strings.ReplaceAll(t.Name(), "/", " ")
					user = user[len(user)-min(len(user), 190):]
					key := operatorNode.user(t, user)
					limits, change := tightLimits(operatorNode.now())
					impose(t, kind, user, key, change)
					id, err := operatorNode.Authenticate(t.Context(), key.Key)
					if err != nil {
						t.Fatal(err)
					}
					usage.Add(spending.Record{At: operatorNode.now(), UserID: user, TeamID: id.TeamID, KeyID: key.ID, Provider: "alpha", Model: "large", InputTokens: 600, OutputTokens: 600, CostMicroUSD: 2_000_000, CostKnown: true})
					if err := usage.Flush(t.Context()); err != nil {
						t.Fatal(err)
					}
					for _, text := range trick(t, userNode, user, key) {
						wantBound(t, userNode, text, kind, &limits)
						wantBound(t, operatorNode, text, kind, &limits)
					}
				})
			}
		}
	})
}

// imposedBy returns the limits that are imposed on a kind of holder, or nil if there are none.
func imposedBy(id *Identity, kind string) *Imposed {
	for i := range id.Imposed {
		if l := &id.Imposed[i]; l.On == kind && l.By == ByOperator || kind == OnTeamOwn && l.By == ByTeam {
			return l
		}
	}
	return nil
}

// wantBound checks that imposed limits bind a key, and that earlier spending counts against them.
func wantBound(t *testing.T, n *node, key, kind string, limits *Limits) {
	t.Helper()
	var id *Identity
	schematest.Eventually(t, "the node sees the limits", func() bool {
		found, err := n.Authenticate(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		id = found
		return imposedBy(id, kind) != nil
	})
	got := imposedBy(id, kind)
	setter, allows := "the operator has set", "operator allows"
	if kind == OnTeamOwn {
		setter, allows = "its administrators have set", "administrators of the team allow"
	}
	if !reflect.DeepEqual(&got.Limits, limits) {
		t.Errorf("imposed are %+v", got)
	}
	if rate := id.RateLimit(); rate == nil || *rate > *limits.RateLimitPerMinute {
		t.Errorf("the rate is %v", rate)
	}
	if id.expires == 0 || id.expires > schema.Micros(*limits.ExpiresAt) {
		t.Errorf("it ends at %d", id.expires)
	}
	for entry, want := range map[string]string{"alpha/large": "", "beta/large": allows} {
		if list := id.Forbids(&Candidate{Entry: entry}); (list == "") != (want == "") || !strings.Contains(list, want) {
			t.Errorf("%s: %q", entry, list)
		}
	}
	if list := id.Forbids(&Candidate{Entry: "alpha/mine", Custom: true, Shadows: true}); list == "" {
		t.Error("a model of the user's own passes by the name of a provider")
	}
	_, err := n.Admit(t.Context(), nil, id)
	wantRefusal(t, err, http.StatusPaymentRequired, "insufficient_quota", "")
	refusal, _ := apierror.From(err)
	want := map[string]string{
		OnKey: "the gateway key, together with the keys that share its limits, has spent", OnUser: "the user of the gateway key has spent",
		OnTeam: "the team of the gateway key has spent", OnTeamOwn: "the team of the gateway key has spent", OnOrganisation: "the organisation has spent",
	}[kind]
	if refusal != nil && (!strings.Contains(refusal.Message, want) || !strings.Contains(refusal.Message, setter) ||
		!strings.Contains(refusal.Message, "1000 tokens a month") || !strings.Contains(refusal.Message, "is renewed at 2026-04-01T00:00:00Z")) {
		t.Errorf("the refusal says %q", refusal.Message)
	}
}

// TestOwnAndImposedLimits checks that users may set tighter limits on their own keys, and that these stay when the
// operator changes the imposed limits.
func TestOwnAndImposedLimits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		key := n.user(t, "alice")
		limits, change := tightLimits(n.now())
		if _, err := n.UpdateKey(t.Context(), "alice", key.ID, change); err != nil {
			t.Fatal(err)
		}
		rate, models := int64(2), []string{"alpha/small"}
		got, err := n.UpdateKey(t.Context(), "alice", key.ID, KeyChange{Limits: limitsTo(Limits{RateLimitPerMinute: &rate, AllowedModels: models})})
		if err != nil || *got.RateLimitPerMinute != 2 || !reflect.DeepEqual(got.Imposed, []Imposed{{On: OnKey, Holder: key.ID, By: ByOperator, Limits: limits}}) {
			t.Fatalf("%+v, error %v", got, err)
		}
		id := got.Identity()
		if *id.RateLimit() != 2 || id.Forbids(&Candidate{Entry: "alpha/small"}) != "" || id.Forbids(&Candidate{Entry: "alpha/large"}) != "the key's allowed_models" {
			t.Errorf("%+v", id)
		}
		got, err = n.UpdateKey(t.Context(), "alice", key.ID, KeyChange{Impose: true, Limits: limitsTo(Limits{})})
		if err != nil || *got.RateLimitPerMinute != 2 || len(got.Imposed) != 0 {
			t.Errorf("after the operator has lifted all: %+v, error %v", got, err)
		}
	})
}

// TestKeyWithUnlimitedKey checks that new keys have no imposed limits while the user has a key without any.
func TestKeyWithUnlimitedKey(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		first := n.user(t, "alice")
		limits, _ := tightLimits(n.now())
		ci, err := n.CreateKey(t.Context(), "alice", KeyOptions{Limits: Limits{AllowedModels: limits.AllowedModels}, Impose: true})
		if err != nil || len(ci.Imposed) != 1 || ci.AllowedModels != nil {
			t.Fatalf("%+v, error %v", ci, err)
		}
		free, err := n.CreateKey(t.Context(), "alice", KeyOptions{})
		if err != nil || len(free.Imposed) != 0 {
			t.Errorf("%+v, error %v", free, err)
		}
		for _, id := range []string{first.ID, free.ID} {
			if err := n.RevokeKey(t.Context(), "alice", id); err != nil {
				t.Fatal(err)
			}
		}
		bound, err := n.CreateKey(t.Context(), "alice", KeyOptions{})
		if err != nil || len(bound.Imposed) != 1 || bound.Imposed[0].Holder != ci.ID {
			t.Errorf("%+v, error %v", bound, err)
		}
	})
}

// TestImposedExpiry checks that users cannot make a key that outlives the expiry imposed by the operator.
func TestImposedExpiry(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		key := n.user(t, "alice")
		limits, _ := tightLimits(n.now())
		end := KeyChange{Impose: true, Limits: func(l *Limits) { l.ExpiresAt = limits.ExpiresAt }}
		if _, err := n.UpdateKey(t.Context(), "alice", key.ID, end); err != nil {
			t.Fatal(err)
		}
		n.clock.Offset.Add(int64(2 * time.Hour))
		wantUnknownKey(t, n, key.Key)
		if keys, err := n.Keys(t.Context(), "alice"); err != nil || keys[0].Status != StatusExpired {
			t.Errorf("%+v, error %v", keys, err)
		}
		_, err := n.CreateKey(t.Context(), "alice", KeyOptions{})
		wantRefusal(t, err, http.StatusConflict, "expired", "")
		_, err = n.RegenerateKey(t.Context(), "alice")
		wantRefusal(t, err, http.StatusConflict, "expired", "")
		if refusal, _ := apierror.From(err); refusal != nil && !strings.Contains(refusal.Message, "the operator") {
			t.Errorf("it says %q", refusal.Message)
		}
	})
}

// TestNewUsers checks that the operator's policy refuses new users or imposes limits on them, and leaves known users
// alone.
func TestNewUsers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		limits, _ := tightLimits(n.now())
		refuse, bind := NewUsers{Refuse: true}, NewUsers{Limits: limits}
		if user, key, created, err := n.SignIn(t.Context(), Arrival{ID: "alice"}, refuse); err != nil || created || key != nil || user.ID != "alice" {
			t.Errorf("%+v, %+v, %t, error %v", user, key, created, err)
		}
		_, _, _, err := n.SignIn(t.Context(), Arrival{ID: "bob"}, refuse)
		wantRefusal(t, err, http.StatusForbidden, "new_users_refused", "")
		if _, err := n.User(t.Context(), "bob"); err == nil {
			t.Error("bob was made")
		}
		_, key, created, err := n.SignIn(t.Context(), Arrival{ID: "bob"}, bind)
		if err != nil || !created || len(key.Imposed) != 1 || key.Imposed[0].On != OnUser || !reflect.DeepEqual(key.Imposed[0].Limits, limits) {
			t.Errorf("%+v, error %v", key, err)
		}
		// The limits for new users do not bind a known user.
		if _, _, _, err := n.SignIn(t.Context(), Arrival{ID: "alice"}, bind); err != nil {
			t.Error(err)
		}
		if got, err := n.ImposedLimits(t.Context(), OnUser, "alice"); err != nil || !got.empty() {
			t.Errorf("%+v, error %v", got, err)
		}
		free := int64(-1)
		if (&NewUsers{Limits: Limits{RateLimitPerMinute: &free}}).Check() == nil {
			t.Error("a negative limit passes")
		}
	})
}

// TestKeyless checks that a user's limits bind requests made in the user's name without a key.
func TestKeyless(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "guest")
		_, change := tightLimits(n.now())
		if id, err := n.Keyless(t.Context(), "guest"); err != nil || id.Restricted() || id.KeyID != "" {
			t.Errorf("%+v, error %v", id, err)
		}
		if _, err := n.Impose(t.Context(), OnUser, "guest", change); err != nil {
			t.Fatal(err)
		}
		usage := spending.NewLog(n.ledger, n.KeyUses(), zap.NewNop()).Start()
		defer func() { _ = usage.Close(t.Context()) }()
		id, err := n.Keyless(t.Context(), "guest")
		if err != nil || !id.Restricted() {
			t.Fatalf("%+v, error %v", id, err)
		}
		wantAdmitted(t, n, id)
		usage.Add(spending.Record{At: n.now(), UserID: "guest", Provider: "alpha", Model: "large", InputTokens: 1000})
		_, err = n.Admit(t.Context(), nil, id)
		wantRefusal(t, err, http.StatusPaymentRequired, "insufficient_quota", "")
		n.clock.Offset.Add(int64(2 * time.Hour))
		_, err = n.Keyless(t.Context(), "guest")
		wantRefusal(t, err, http.StatusForbidden, "expired", "")
	})
}
