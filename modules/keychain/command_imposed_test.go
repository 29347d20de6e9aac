package keychain

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// TestImposedByCommand checks that limits that the operator sets by commands are imposed on a key or a user, are shown
// separately, and can be removed.
func TestImposedByCommand(t *testing.T) {
	l, _ := sqliteCommandLine(t)
	k := l.key("keys", "create", "-u", "alice", "--usd-per-day", "2.50", "--allow", "openai/*", "--rate-limit", "9", "--label", "ci")
	imposed := func(k keychain.NewKey) string {
		text, err := json.Marshal(k.Imposed)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const limitJSON = `{"on":"key","id":"ID","by":"operator","rate_limit_per_minute":9,"expires_at":null,"allowed_models":["openai/*"],"budgets":{"tokens_per_day":null,"tokens_per_month":null,"usd_per_day":2.5,"usd_per_month":null}}`
	if want := "[" + strings.Replace(limitJSON, "ID", k.ID, 1) + "]"; imposed(k) != want || k.Label != "ci" || k.RateLimitPerMinute != nil || k.AllowedModels != nil {
		t.Errorf("got  %s (%+v)\nwant %s", imposed(k), k, want)
	}
	own := l.key("keys", "update", k.ID, "-u", "alice", "--own", "--usd-per-day", "1", "--tokens-per-day", "7")
	if *own.Budgets.USDPerDay != 1_000_000 || *own.Budgets.TokensPerDay != 7 || imposed(own) != imposed(k) {
		t.Errorf("with own limits: %+v", own)
	}
	out, _ := l.run("keys", "list", "-u", "alice")
	if !strings.Contains(out, "on the key: 9 requests/minute, 2.5 USD/day, only openai/*") || !strings.Contains(out, "7 tokens/day, 1 USD/day") {
		t.Errorf("the list is\n%s", out)
	}
	changed := l.key("keys", "update", k.ID, "-u", "alice", "--usd-per-month", "40", "--no-rate-limit")
	if b := changed.Imposed[0].Budgets; *b.USDPerDay != 2_500_000 || *b.USDPerMonth != 40_000_000 || changed.Imposed[0].RateLimitPerMinute != nil || *changed.Budgets.USDPerDay != 1_000_000 {
		t.Errorf("after a change: %+v", changed)
	}
	lifted := l.key("keys", "update", k.ID, "-u", "alice", "--usd-per-month", "none", "--usd-per-day", "none", "--allow", "none")
	if len(lifted.Imposed) != 0 || *lifted.Budgets.USDPerDay != 1_000_000 {
		t.Errorf("after all was lifted: %+v", lifted)
	}

	if out, _ = l.run("users", "limit", "alice"); !strings.Contains(out, "none") {
		t.Errorf("without limits it shows\n%s", out)
	}
	for _, step := range []struct{ flags, want string }{
		{"--usd-per-month 100 --allow groq/*", "100 USD/month, only groq/*"},
		{"--rate-limit 60", "60 requests/minute, 100 USD/month, only groq/*"},
		{"", "60 requests/minute, 100 USD/month, only groq/*"},
		{"--usd-per-month none --no-rate-limit --expires 2999-01-31", "only groq/*, until 2999-01-31 00:00:00Z"},
		{"--lift", "none"},
		{"", "none"},
	} {
		out, _ = l.run(append([]string{"users", "limit", "alice"}, strings.Fields(step.flags)...)...)
		if !strings.Contains(out, "Imposed on the user alice:  "+step.want+"\n") {
			t.Errorf("%s shows\n%s", step.flags, out)
		}
	}
	l.run("teams", "add", "red")
	l.run("teams", "join", "red", "alice")
	l.wantError(`the team "red" already exists`, "teams", "add", "red")
	for _, step := range []struct{ command, want string }{
		{"teams limit red --tokens-per-week 5 --usd-total 7", "Imposed on the team red:  5 tokens/week, 7 USD in total"},
		{"organisation limit --rate-limit 900 --usd-per-month 70", "Imposed on the organisation:  900 requests/minute, 70 USD/month"},
		{"keys list -u alice", "on the team: 5 tokens/week, 7 USD in total; on the organisation: 900 requests"},
		{"teams rename red blue", "The team red is now called blue."},
		{"teams members blue", "member  yes"},
		{"teams leave blue alice", "alice is no longer in the team blue."},
		{"teams remove blue", "The team blue is removed."},
		{"organisation limit --lift", "Imposed on the organisation:  none"},
		{"teams report --by team", "REQUESTS"},
	} {
		if out, _ = l.run(strings.Fields(step.command)...); !strings.Contains(out, step.want) {
			t.Errorf("%s shows\n%s", step.command, out)
		}
	}
	l.wantError(`there is no team "blue"`, "teams", "limit", "blue", "--usd-total", "1")
	l.wantError(`there is no user "nobody"`, "users", "limit", "nobody", "--usd-per-day", "1")
	l.wantError(`names the unknown model "nope/x"`, "users", "limit", "alice", "--allow", "nope/x")
	l.wantError("if any flags in the group [lift", "users", "limit", "alice", "--lift", "--usd-per-day", "1")
}

// TestModelsAddWithoutConfiguration checks that the refusal of a base URL says that no configuration was read, since
// the server's configuration may permit it.
func TestModelsAddWithoutConfiguration(t *testing.T) {
	l, _ := sqliteCommandLine(t)
	l.run("users", "add", "alice")
	add := []string{"models", "add", "local/x", "-u", "alice", "--base-url", "http://127.0.0.1:9/v1", "--model", "x", "--tier", "low"}
	l.run(add...)
	t.Chdir(t.TempDir())
	if _, _, err := execute(t.Context(), "", "keys", "create", "-u", "alice"); err != nil { // creates a database in this folder
		t.Fatal(err)
	}
	_, _, err := execute(t.Context(), "", add...)
	if err == nil || !strings.Contains(err.Error(), "there is no Caddyfile in this folder") || !strings.Contains(err.Error(), "--config") {
		t.Errorf("error %v", err)
	}
}
