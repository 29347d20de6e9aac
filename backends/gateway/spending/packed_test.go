package spending

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
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

// TestPackedRecordIsComplete fails if Record gets a field that is not stored.
func TestPackedRecordIsComplete(t *testing.T) {
	t.Parallel()
	r := reflect.ValueOf(fullRecord)
	for i := range r.NumField() {
		switch name := r.Type().Field(i).Name; name {
		case "ID", "At", "UserID": // have their own columns
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
		t.Error("parsePacked accepts invalid attempts")
	}
}

// TestUsageView checks that SQL reads records by the columns of the view, including short records of earlier versions.
func TestUsageView(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		full, short := fullRecord, record(1)
		full.At, full.UserID = start, "alice"
		full.ProviderKey, full.ServedAs, full.ServerTools = "", nil, nil
		short.ProviderKey, short.ServedAs, short.ServerTools = "operator", []string{"fast", "us"}, map[string]int64{"web_search": 3}
		log.Add(full)
		log.Add(short)
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		n.sql(t, "INSERT INTO gateway_usage_records (at, user_id, record) VALUES (1, 'alice', '[\"r\",\"k\"]')")
		err := n.db.Read(t.Context(), func(c store.Conn) error {
			var records, tokens, stream, status, known, keys int64
			var model, key, served, tools string
			err := c.Row(`SELECT count(*), sum(output_tokens), max(stream), min(status), count(cost_micro_usd), max(asked_model), count(nullif(provider_key, '')),
				max(provider_key), max(served_as), max(server_tools) FROM gateway_usage WHERE user_id = 'alice'`).Scan(
				&records, &tokens, &stream, &status, &known, &model, &keys, &key, &served, &tools)
			if records != 3 || tokens != full.OutputTokens+short.OutputTokens || stream != 1 || status != 200 || known != 1 || model != full.AskedModel {
				t.Errorf("%d records, %d tokens, streamed %d, status %d, %d with a cost, %q", records, tokens, stream, status, known, model)
			}
			if keys != 1 || key != "operator" || served != "fast us" || tools != `{"web_search":3}` {
				t.Errorf("%d records have a provider key, %q, served as %q, with %q", keys, key, served, tools)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		if got, err := n.Recent(t.Context(), "alice", 0, 10); err != nil || len(got) != 3 || got[0].KeyID != "k" {
			t.Errorf("%+v, error %v", got, err)
		}
	})
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
