package keychain

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

var updateGolden = flag.Bool("update", false, "write the files in testdata anew")

// key runs a command that prints a key, and returns the key.
func (l *commandLine) key(args ...string) (k keychain.NewKey) {
	l.t.Helper()
	out, _ := l.run(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &k); err != nil {
		l.t.Fatalf("%v in %s", err, out)
	}
	return k
}

func wantOptions(t *testing.T, k keychain.NewKey, want string) {
	t.Helper()
	got, err := json.Marshal(map[string]any{"expires": k.ExpiresAt, "models": k.AllowedModels, "budgets": k.Budgets, "mode": k.EffortMode, "limit": k.RateLimitPerMinute})
	if err != nil || string(got) != want {
		t.Errorf("got  %s, error %v\nwant %s", got, err, want)
	}
}

// TestKeyLimits checks that limits of keys can be set, changed and removed.
func TestKeyLimits(t *testing.T) {
	l, _ := sqliteCommandLine(t)
	all := strings.Fields("--rate-limit 9 --expires 2999-01-31 --allow openai/*,groq/openai/gpt-oss-20b --tokens-per-day 10 --tokens-per-month 20 --usd-per-day 2.50 --usd-per-month 40 --effort-mode max_of_both --own")
	const want = `{"budgets":{"tokens_per_day":10,"tokens_per_month":20,"usd_per_day":2.5,"usd_per_month":40},"expires":"2999-01-31T00:00:00Z","limit":9,"mode":"max_of_both","models":["openai/*","groq/openai/gpt-oss-20b"]}`
	for range 2 { // the first run creates the user
		wantOptions(t, l.key(append([]string{"keys", "create", "-u", "alice", "--label", "ci"}, all...)...), want)
	}
	k := l.key("keys", "create", "-u", "alice")
	update := []string{"keys", "update", k.ID, "-u", "alice"}
	wantOptions(t, l.key(append(update, all...)...), want)
	wantOptions(t, l.key(append(update, "--label", "build")...), want)
	wantOptions(t, l.key(append(update, "--usd-per-day", "none", "--tokens-per-month", "30", "--allow", "none", "--expires", "none", "--no-rate-limit", "--own")...),
		`{"budgets":{"tokens_per_day":10,"tokens_per_month":30,"usd_per_day":null,"usd_per_month":40},"expires":null,"limit":null,"mode":"max_of_both","models":null}`)
	if late := l.key(append(update, "--expires", "90d", "--own")...).ExpiresAt; late == nil || time.Until(*late).Round(time.Hour) != 90*24*time.Hour {
		t.Errorf("90 days are until %v", late)
	}
	out, _ := l.run("keys", "list", "-u", "alice")
	for _, part := range []string{"openai/*, groq/openai/gpt-oss-20b", "10 tokens/day, 20 tokens/month, 2.5 USD/day, 40 USD/month", "2999-01-31 00:00:00Z", "active"} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is not in\n%s", part, out)
		}
	}
	out, _ = l.run(append([]string{"keys", "create", "-u", "alice"}, all...)...)
	for _, part := range []string{"Expires:            2999-01-31 00:00:00Z", "Models:             openai/*, groq/openai/gpt-oss-20b", "Budgets:            10 tokens/day"} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is not in\n%s", part, out)
		}
	}
	for args, want := range map[string]string{
		"--expires tomorrow":        `"tomorrow" is neither a time`,
		"--expires 2001-01-01":      "expires_at must be in the future",
		"--allow gpt":               "allowed_models[0] must be provider/model",
		"--allow nope/x":            `allowed_models[0] names the unknown model "nope/x"`,
		"--tokens-per-day many":     `--tokens-per-day: "many" is not a number of tokens`,
		"--tokens-per-month 0":      "budgets.tokens_per_month must be from 1",
		"--usd-per-day cheap":       `--usd-per-day: "cheap" is not an amount`,
		"--usd-per-month 0.0000001": "budgets.usd_per_month must be from 0.000001",
	} {
		l.wantError(want, append([]string{"keys", "create", "-u", "alice"}, strings.Fields(args)...)...)
		l.wantError(want, append(update, strings.Fields(args+" --own")...)...)
	}
	l.wantError(`there is no gateway key "gk_x"`, "keys", "update", "gk_x", "-u", "alice", "--usd-per-day", "1")
}

func TestReport(t *testing.T) {
	l, file := sqliteCommandLine(t)
	l.run("users", "add", "alice")
	db, err := store.NewSQLite(store.SQLiteOptions{Path: file}, zap.NewNop())
	service := another(t, db, err)
	log := usageLog(service)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	log.Add(spending.Record{
		At: now, UserID: "alice", KeyID: "gk_1", Tier: catalog.High, Provider: "groq", Model: "x", Status: 200, InputTokens: 5, OutputTokens: 6,
		CostMicroUSD: 7, CostKnown: true, Latency: 1500 * time.Millisecond, FirstToken: time.Second,
	})
	log.Add(spending.Record{At: now.Add(24 * time.Hour), UserID: "alice", KeyID: "gk_2", Status: 400, Code: "invalid_value"})
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, _ := l.run("usage", "report", "-u", "alice", "--from", "2026-11-21", "--to", "2026-11-23T00:00:00Z", "--by", "provider,model,day,hour,key,tier")
	const golden = "testdata/report.txt"
	if *updateGolden {
		if err := os.WriteFile(golden, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || out != string(want) {
		t.Errorf("got\n%s\nerror %v, want\n%s", out, err, want)
	}
	out, _ = l.run("usage", "report", "-u", "alice", "--from", "2026-11-22", "--to", "2026-11-23", "--by", "key", "--json")
	if got := compact(t, out); !strings.HasPrefix(got, `{"from":"TIME","to":"TIME","totals":{"requests":1,`) || !strings.Contains(got, `"by_key":[{"key_id":"gk_2","requests":1,`) {
		t.Errorf("%s", got)
	}
	l.wantError("group must name some of", "usage", "report", "-u", "alice", "--by", "colour")
	l.wantError(`--from: "yesterday" is not a time`, "usage", "report", "-u", "alice", "--from", "yesterday")
	l.wantError("from must be before to", "usage", "report", "-u", "alice", "--from", "2026-11-21", "--to", "2026-11-21")
	l.wantError(`there is no user "bob"`, "usage", "report", "-u", "bob")
}
