package spending

import (
	"encoding/json"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

var fullRecord = Record{
	RequestID: "req_1", TeamID: "team_1", KeyID: "gk_1", Surface: "chat_completions", AskedModel: `a "quoted" \ é <&> name`, Tier: catalog.High,
	Provider: "alpha", Model: "large", Stream: true, Status: 502, Code: "all_providers_failed", Attempts: 2,
	FailedAttempts: []apierror.Attempt{{Provider: "alpha", Model: "large", Status: 500, Code: "server_error", Message: "no\n", LatencyMS: 5}, {Provider: "beta"}},
	InputTokens:    1<<63 - 1, CachedTokens: 2, OutputTokens: 3, ReasoningTokens: 4, UsageSource: "estimated",
	CostMicroUSD: 1 << 62, CostKnown: true, Latency: 1234567 * time.Microsecond, FirstToken: 89 * time.Microsecond, ProviderKey: "pk_1",
	ServedAs: []string{"flex", "us"}, ServerTools: map[string]int64{"web_search": 3, "file_search": 1},
	WrittenTokens: 7, Tags: []string{"nightly", "a b"}, EndUser: `"é"`,
}

func TestPackedRecords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Record{
		"full":      fullRecord,
		"empty":     {},
		"free":      {CostKnown: true},
		"fast":      {ServedAs: []string{"fast"}},
		"of a team": {TeamID: "team_1"},
		"tagged":    {Tags: []string{"one"}},
		"for one":   {EndUser: "customer-7"},
		"written":   {WrittenTokens: 5},
		"searched":  {ServerTools: map[string]int64{"web_search": 2}},
		"no answer": {RequestID: "r", Status: 499, Attempts: 1, Latency: time.Second},
	} {
		text, err := appendPacked([]byte("before"), &want)
		if err != nil || !json.Valid(text[len("before"):]) {
			t.Fatalf("%s: %s, error %v", name, text, err)
		}
		got, err := parsePacked(string(text[len("before"):]))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, error %v\nwant %+v", name, got, err, want)
		}
	}
}

// TestPackedRecordIsComplete finds a field that is added and not stored.
func TestPackedRecordIsComplete(t *testing.T) {
	t.Parallel()
	r := reflect.ValueOf(fullRecord)
	for i := range r.NumField() {
		switch name := r.Type().Field(i).Name; name {
		case "ID", "At", "UserID": // columns of their own
		default:
			if r.Field(i).IsZero() {
				t.Errorf("%s is not tested", name)
			}
		}
	}
}

func TestParsePacked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Record{
		"":                         {},
		"[]":                       {},
		`["r"]`:                    {RequestID: "r"},
		`["r", "k", "s", "m", ""]`: {RequestID: "r", KeyID: "k", Surface: "s", AskedModel: "m"},
	} {
		if got, err := parsePacked(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, error %v", text, got, err)
		}
	}
	if _, err := parsePacked(`[1,2,3,4,5,6,7,8,9,10,11,["no attempt"]]`); err == nil {
		t.Error("broken attempts are no error")
	}
}

// TestUsageMigration brings records from the time of one column a value over,
// and reads them and new ones, also by SQL under the old names.
func TestUsageMigration(t *testing.T) {
	t.Parallel()
	onBothEmpty(t, func(t *testing.T, p place) {
		old := make(fstest.MapFS)
		for _, name := range []string{"00001_keychain.sql", "00002_usage.sqlite.sql", "00002_usage.postgres.sql"} {
			text, err := fs.ReadFile(schema.Gateway().Migrations, name)
			if err != nil {
				t.Fatal(err)
			}
			old[name] = &fstest.MapFile{Data: text}
		}
		const columns = `id, at, request_id, user_id, key_id, surface, asked_model, tier, provider, model, stream, status, code, attempts,
			failed_attempts, input_tokens, cached_tokens, output_tokens, reasoning_tokens, usage_source, cost_micro_usd, latency_us, first_token_us`
		override := map[store.Dialect]string{store.Postgres: "OVERRIDING SYSTEM VALUE"}[p.Dialect]
		run := func(db *store.DB, query string, args ...any) {
			t.Helper()
			err := db.Write(t.Context(), func(c store.Conn) error {
				_, err := c.Exec(query, args...)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		failed, err := json.Marshal(fullRecord.FailedAttempts)
		if err != nil {
			t.Fatal(err)
		}
		before := p.register(t, store.Schema{Name: "gateway", Migrations: old})
		insert := `INSERT INTO gateway_usage (` + columns + `) ` + override + ` VALUES (?` + strings.Repeat(",?", 22) + `)`
		f := &fullRecord
		run(before, insert, 7, schema.Micros(start), f.RequestID, "alice", f.KeyID, f.Surface, f.AskedModel, "high", f.Provider, f.Model, 1, f.Status, f.Code, f.Attempts,
			string(failed), f.InputTokens, f.CachedTokens, f.OutputTokens, f.ReasoningTokens, f.UsageSource, f.CostMicroUSD, 1234567, 89)
		run(before, insert, 9, schema.Micros(start), "", "alice", "", "", "", "", "", "", 0, 0, "", 0,
			`[{"provider":"","model":"","status":0,"code":"","message":"\u0000 \\u0000","latency_ms":0}]`, 0, 0, 0, 0, "", nil, 0, 0)
		if err := before.Close(); err != nil {
			t.Fatal(err)
		}

		n := p.start(t)
		log := quietLog(n)
		third := record(1)
		third.ProviderKey, third.ServedAs, third.ServerTools = "operator", []string{"fast", "us"}, map[string]int64{"web_search": 3}
		log.Add(third)
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := n.Recent(t.Context(), "alice", 0, 10)
		if err != nil || len(got) != 3 {
			t.Fatalf("%+v, error %v", got, err)
		}
		first, second := fullRecord, Record{ID: 9, At: start, UserID: "alice"}
		first.ID, first.At, first.UserID, first.ProviderKey = 7, start, "alice", ""
		first.ServedAs, first.ServerTools, first.TeamID = nil, nil, ""
		first.WrittenTokens, first.Tags, first.EndUser = 0, nil, ""
		second.FailedAttempts = []apierror.Attempt{{Message: "\x00 \\u0000"}}
		if p.Dialect == store.Postgres { // which reads no JSON with an escaped zero byte
			second.FailedAttempts[0].Message = "\ufffd \\ufffd"
		}
		third.ID = 10
		if want := []Record{third, second, first}; !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}

		err = n.db.Read(t.Context(), func(c store.Conn) error {
			var tokens, stream, status, known, ids int64
			var attempts, model string
			err := c.Row(`SELECT sum(output_tokens), max(stream), min(status), count(cost_micro_usd), sum(id), min(failed_attempts),
				max(asked_model) FROM gateway_usage WHERE user_id = 'alice' AND request_id <> ''`).Scan(&tokens, &stream, &status, &known, &ids, &attempts, &model)
			if tokens != 3 || stream != 1 || status != 200 || known != 1 || ids != 17 || attempts != "" || model != f.AskedModel {
				t.Errorf("by SQL: %d %d %d %d %d %q %q", tokens, stream, status, known, ids, attempts, model)
			}
			if err != nil {
				return err
			}
			var keys int64
			var key string
			err = c.Row(`SELECT count(provider_key), max(provider_key) FROM gateway_usage`).Scan(&keys, &key)
			if keys != 1 || key != "operator" {
				t.Errorf("by SQL %d records have a provider key, %q", keys, key)
			}
			if err != nil {
				return err
			}
			var served, tools string
			err = c.Row(`SELECT max(served_as), max(server_tools) FROM gateway_usage`).Scan(&served, &tools)
			if served != "fast us" || tools != `{"web_search":3}` {
				t.Errorf("by SQL served as %q, with %q", served, tools)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestUsageMigrationBack undoes the migration with its own text.
func TestUsageMigrationBack(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		full := fullRecord
		full.At, full.UserID = start, "alice"
		log.Add(full)
		log.Add(record(1))
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		text, err := fs.ReadFile(schema.Gateway().Migrations, "00003_usage_records."+p.Dialect.String()+".sql")
		if err != nil {
			t.Fatal(err)
		}
		_, down, _ := strings.Cut(string(text), "-- +goose Down\n")
		// As a migration of its own; the engines read the file with all comments.
		back := fstest.MapFS{"00001_back." + p.Dialect.String() + ".sql": {Data: []byte("-- +goose Up\n" + down)}}
		p.register(t, store.Schema{Name: "back", Migrations: back})
		err = n.db.Read(t.Context(), func(c store.Conn) error {
			var input, cost, stream int64
			var attempts string
			err := c.Row(`SELECT max(input_tokens), max(cost_micro_usd), sum(stream), max(failed_attempts)
				FROM gateway_usage WHERE user_id = 'alice'`).Scan(&input, &cost, &stream, &attempts)
			if input != full.InputTokens || cost != full.CostMicroUSD || stream != 1 || !strings.Contains(attempts, `"server_error"`) {
				t.Errorf("%d %d %d %s", input, cost, stream, attempts)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// register opens the place with the schema alone.
func (p place) register(t *testing.T, schema store.Schema) *store.DB {
	t.Helper()
	var db *store.DB
	var err error
	if p.Dialect == store.Postgres {
		db, err = store.NewPostgres(store.PostgresOptions{DSN: p.Location}, zap.NewNop())
	} else {
		db, err = store.NewSQLite(store.SQLiteOptions{Path: p.Location}, zap.NewNop())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Register(schema); err != nil {
		t.Fatal(err)
	}
	testenv.Open(t, db)
	return db
}

func FuzzParsePacked(f *testing.F) {
	text, err := appendPacked(nil, &fullRecord)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(`["r",1,null,{},[],true`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parsePacked(text)
		if err != nil {
			return
		}
		if _, err := appendPacked(nil, &r); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkAppendPacked(b *testing.B) {
	r := typicalRecord()
	var text []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if text, err = appendPacked(text[:0], &r); err != nil {
			b.Fatal(err)
		}
	}
}
