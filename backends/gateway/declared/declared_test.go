package declared

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.yaml.in/yaml/v3"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var databases = storetest.Fixture{Schemas: []store.Schema{schema.Gateway()}}

func newService(t *testing.T, db *store.DB) *keychain.Service {
	t.Helper()
	ring, err := keyring.NewAES(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	s, err := keychain.New(db, ring, spending.NewLedger(db, zap.NewNop(), time.Now), zap.NewNop(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func apply(t *testing.T, s *keychain.Service, text string, o Options) []string {
	t.Helper()
	f, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	changes, err := Apply(t.Context(), s, f, o)
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(changes))
	for i, c := range changes {
		lines[i] = c.String()
	}
	return lines
}

func export(t *testing.T, s *keychain.Service) string {
	t.Helper()
	f, err := Export(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// auditedActions returns the actors and actions in the audit log, oldest first.
func auditedActions(t *testing.T, s *keychain.Service) (all []string) {
	t.Helper()
	entries, err := s.Audit(t.Context(), 0, 500)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range slices.Backward(entries) {
		all = append(all, e.Actor+" "+e.Action)
	}
	return all
}

const whole = `
organisation:
  limits: {usd_per_month: 5000.5, rate_limit_per_minute: 1000}
teams:
  - name: Research
    limits:
      usd_per_month: 50
      tokens_total: 1000000
      allowed_models: [openai/*, "groq/*"]
      expires_at: 2999-01-31T18:00:00Z
    members:
      - {user: ada, role: admin}
      - bob
      - {user: "007", default: true}
  - name: Sales
    members: [{user: ada, default: true}, "007"]
users:
  - id: eve
    suspended: true
    limits: {parallel_requests: 2, tokens_per_minute: 9000, usd_per_day: 0.000001}
`

const exported = `organisation:
    limits:
        usd_per_month: 5000.5
        rate_limit_per_minute: 1000
teams:
    - name: Research
      limits:
        usd_per_month: 50
        tokens_total: 1000000
        expires_at: "2999-01-31T18:00:00Z"
        allowed_models:
            - openai/*
            - groq/*
      members:
        - user: "007"
          default: true
        - user: ada
          role: admin
        - user: bob
          default: true
    - name: Sales
      members:
        - user: "007"
        - user: ada
          default: true
users:
    - id: eve
      suspended: true
      limits:
        usd_per_day: 0.000001
        tokens_per_minute: 9000
        parallel_requests: 2
`

func equal(t *testing.T, name string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestApply checks that a file takes effect, that applying it again changes nothing, and that its export produces the
// same state on an empty gateway.
func TestApply(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newService(t, db)
		want := []string{
			"+ user ada", "+ user bob", "+ user 007", "+ user eve",
			"~ organisation: limits: usd_per_month none -> 5000.5, rate_limit_per_minute none -> 1000",
			"+ team Research",
			`~ team Research: limits: usd_per_month none -> 50, tokens_total none -> 1000000, expires_at none -> 2999-01-31T18:00:00Z, allowed_models none -> ["openai/*","groq/*"]`,
			"+ team Research: member ada: admin", "+ team Research: member bob: member", "+ team Research: member 007: member, default team",
			"+ team Sales", "+ team Sales: member ada: member, default team", "+ team Sales: member 007: member",
			"~ user eve: limits: usd_per_day none -> 0.000001, tokens_per_minute none -> 9000, parallel_requests none -> 2",
			"~ user eve: suspended",
		}
		before := export(t, s)
		equal(t, "a dry run", apply(t, s, whole, Options{DryRun: true}), want)
		if after := export(t, s); after != before || len(auditedActions(t, s)) > 0 {
			t.Errorf("a dry run has made\n%s and %q", after, auditedActions(t, s))
		}
		equal(t, "the first time", apply(t, s, whole, Options{}), want)
		equal(t, "the second time", apply(t, s, whole, Options{Prune: true}), nil)
		if got := export(t, s); got != exported {
			t.Errorf("the export is\n%s\nwant\n%s", got, exported)
		}
		equal(t, "the export of it", apply(t, s, exported, Options{Prune: true}), nil)
		equal(t, "the audit", auditedActions(t, s), []string{
			"command user.created", "command user.created", "command user.created", "command user.created", "command organisation.limited", "command team.created",
			"command team.limited", "command member.set", "command member.set", "command member.set", "command team.created", "command member.set", "command member.set",
			"command user.limited", "command user.suspended",
		})
		if err := s.Active(t.Context(), "eve"); err == nil {
			t.Error("eve is not suspended")
		}
	})
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newService(t, db)
		f, err := Read([]byte(exported))
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(f) // Read accepts JSON too
		if err != nil {
			t.Fatal(err)
		}
		apply(t, s, string(text), Options{})
		if got := export(t, s); got != exported {
			t.Errorf("on an empty gateway the export is\n%s\nwant\n%s", got, exported)
		}
	})
}

// TestPrune checks that objects which the file lacks are removed only with Prune. Users and their keys always stay.
func TestPrune(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newService(t, db)
		apply(t, s, whole, Options{})
		key, err := s.CreateKey(t.Context(), "bob", keychain.KeyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		const partial = `
teams:
  - name: Research
    members: [{user: ada, default: true}, {user: bob, role: admin}]
users: [{id: eve, suspended: false}]
`
		equal(t, "without prune", apply(t, s, partial, Options{}), []string{
			"~ team Research: member ada: role admin -> member, default team", "~ team Research: member bob: role member -> admin", "~ user eve: no longer suspended",
		})
		want := []string{
			"- team Research: member 007", `- team Research: limits: usd_per_month 50 -> none, tokens_total 1000000 -> none, expires_at 2999-01-31T18:00:00Z -> none, allowed_models ["openai/*","groq/*"] -> none`,
			"- team Sales", "- organisation: limits: usd_per_month 5000.5 -> none, rate_limit_per_minute 1000 -> none",
			"- user eve: limits: usd_per_day 0.000001 -> none, tokens_per_minute 9000 -> none, parallel_requests 2 -> none",
		}
		equal(t, "a dry run", apply(t, s, partial, Options{Prune: true, DryRun: true}), want)
		equal(t, "with prune", apply(t, s, partial, Options{Prune: true}), want)
		equal(t, "again", apply(t, s, partial, Options{Prune: true}), nil)
		if got, want := export(t, s), "teams:\n    - name: Research\n      members:\n        - user: ada\n          default: true\n        - user: bob\n          role: admin\n          default: true\nusers: []\n"; got != want {
			t.Errorf("the export is\n%s\nwant\n%s", got, want)
		}
		keys, err := s.Keys(t.Context(), "bob")
		if err != nil || len(keys) != 1 || keys[0].ID != key.ID {
			t.Errorf("bob's keys: %+v, error %v", keys, err)
		}
		if _, err := s.User(t.Context(), "007"); err != nil {
			t.Error(err)
		}
	})
}

// TestApplyIsAtomic checks that no change is made if one is refused, and that the error names the line.
func TestApplyIsAtomic(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newService(t, db)
		for name, c := range map[string]struct{ text, want string }{
			"a limit of nothing": {"teams:\n- name: Red\n  members: [ada]\n- name: Blue\n  limits: {rate_limit_per_minute: 0}\n", "line 5: team Blue: rate_limit_per_minute must be from 1"},
			"a past end":         {"teams: [{name: Red}]\nusers:\n- id: ada\n  limits: {expires_at: 2020-01-01T00:00:00Z}\n", "line 4: user ada: expires_at must be in the future"},
			"a name of an id":    {"users: [{id: ada}]\nteams:\n- name: team_1\n", "line 3: team team_1: the name of a team must not"},
			"a long id":          {"teams: [{name: Red}]\nusers:\n- id: " + strings.Repeat("a", 201) + "\n", "line 3: user aaa"},
		} {
			f, err := Read([]byte(c.text))
			if err == nil {
				_, err = Apply(t.Context(), s, f, Options{})
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %q", name, err, c.want)
			}
		}
		if got := export(t, s); got != "teams: []\nusers: []\n" {
			t.Errorf("something was changed:\n%s", got)
		}
		if users, err := s.Users(t.Context(), "", "", 10); err != nil || len(users) > 0 {
			t.Errorf("users %v, error %v", users, err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Apply(ctx, s, new(File), Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

// TestAddresses checks that a file may name a user by a mail address, but not by two different names.
func TestAddresses(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newService(t, db)
		apply(t, s, "users: [{id: ada}]", Options{})
		ada := keychain.Arrival{ID: "ada", Profile: keychain.Profile{Email: "ada@example.com"}}
		if _, _, _, err := s.SignIn(t.Context(), ada, keychain.NewUsers{}); err != nil {
			t.Fatal(err)
		}
		equal(t, "by address", apply(t, s, "teams: [{name: Red, members: [Ada@example.com]}]", Options{}), []string{"+ team Red", "+ team Red: member ada: member"})
		f, err := Read([]byte("teams:\n- name: Red\n  members: [ada@example.com]\nusers:\n- id: ada\n"))
		if err == nil {
			_, err = Apply(t.Context(), s, f, Options{})
		}
		if want := `line 5: "ada@example.com" and "ada" are the same user`; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	})
}

// TestRead checks that the errors of all lines are reported at once.
func TestRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "the file is empty",
		"a: [":                            "reading YAML:",
		"- a":                             "line 1: the file must be an object",
		"teams: {}":                       "line 1: teams must be a list",
		"team: []":                        `line 1: the file has no field "team"; its fields are: organisation, prices, teams, users`,
		"teams: []\nteams: []":            "line 2: the file has the field teams twice",
		"teams: []\n---\nteams: []":       "more than one document",
		"teams:\n- name: a\n  color: red": `line 3: a team has no field "color"; its fields are: aliases, limits, members, name, provider_keys`,
		"teams:\n- members: [a]":          "line 2: a team must have a name",
		"teams: [{name: a}]\nusers: [{id: b}, {id: b}]": `line 2: the user "b" is already declared in line 2`,
		"teams:\n- name: a\n- name: a":                  `line 3: the team "a" is already declared in line 2`,
		"teams:\n- name: a\n  members: [b,\n   b]":      `line 4: in this team the user "b" is already declared in line 3`,
		"teams: [{name: a, members: [{user: b, default: true}]},\n {name: c, members: [{user: b, default: true}]}]": `line 2: the default team of the user "b" is already declared in line 1`,
		"teams: [{name: a, members: [{user: b, role: chief}]}]":                                                     `the role "chief" must be member or admin`,
		"users: [{id: a, suspended: 1}]":                                                                            "suspended must be true or false",
		"users: [{id: a, limits: 5}]":                                                                               "line 1: limits must be an object",
		"users: [{id: a, limits: {usd: 5}}]":                                                                        `limits has no field "usd"; its fields are: allowed_models, allowed_tools, expires_at,`,
		"users: [{id: a, limits: {usd_per_day: much}}]":                                                             "usd_per_day:",
		"users: [{id: a, limits: {tokens_total: 1.5}}]":                                                             "tokens_total: it has the wrong type: number 1.5",
		"users: [{id: a, limits: {tokens_total: [1]}}]":                                                             "tokens_total: it has the wrong type: array",
		"users: [{id: a, limits: {tokens_total: {a: 1}}}]":                                                          "tokens_total: it must be a value",
		"users: [{id: a, limits: {expires_at: soon}}]":                                                              "expires_at: it must be a time such as",
		"users: [{id: a, limits: &x {}}, {id: b, limits: *x}]":                                                      "YAML aliases are not supported",
		"users: [{id: !!str a}]":                                                                                    "YAML tags are not supported",
		"users: [{id: [a]}]":                                                                                        "id must be a string",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	_, err := Read([]byte("color: red\nteams:\n- nam: a\nusers: 5"))
	if err == nil || strings.Count(err.Error(), "\n") != 3 || !strings.Contains(err.Error(), "line 4: users must be a list") {
		t.Errorf("all at once: %v", err)
	}
	if _, err := Read(bytes.Repeat([]byte("#"), MaxFile+1)); err == nil {
		t.Error("a file that is too large is read")
	}
}

// TestLimitFields checks that a file supports the same limits as the operator's API.
func TestLimitFields(t *testing.T) {
	t.Parallel()
	var want []string
	got := make([]string, 0, len(limitFields))
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		for field := range typ.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if field.Type.Kind() == reflect.Struct {
				walk(field.Type)
				continue
			}
			want = append(want, name)
		}
	}
	walk(reflect.TypeFor[keychain.Limits]())
	for _, f := range limitFields {
		got = append(got, f.name)
	}
	slices.Sort(want)
	slices.Sort(got)
	equal(t, "the fields", got, want)
}
