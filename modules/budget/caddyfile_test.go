package budget

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/internal/counters"
)

func TestUnmarshalCaddyfile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Handler{
		"limit 60":                             {Limit: "60"},
		"limit {http.auth.user.limit}":         {Limit: "{http.auth.user.limit}"},
		"limit 1\nname api":                    {Limit: "1", Name: "api"},
		"limit 1\nkey {http.request.host}:{x}": {Limit: "1", Key: "{http.request.host}:{x}"},
		"limit 1\nwindow 1d12h":                {Limit: "1", Window: caddy.Duration(36 * time.Hour)},
		"limit 1\ncharge {http.vars.tokens}":   {Limit: "1", Charge: "{http.vars.tokens}"},
		"limit 1\non_error allow":              {Limit: "1", OnError: "allow"},
		"limit 1\ncost 5 *":                    {Limit: "1", Costs: []Cost{{Cost: "5", Pattern: "*"}}},
		"limit 1\ncost 0 get /a/\ncost {x} * /b": {Limit: "1", Costs: []Cost{
			{Cost: "0", Method: "GET", Pattern: "/a/"}, {Cost: "{x}", Method: "*", Pattern: "/b"},
		}},
	} {
		var got Handler
		err := got.UnmarshalCaddyfile(caddyfile.NewTestDispenser("budget {\n" + text + "\n}"))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"budget":                                     "limit is required",
		"budget {\n}":                                "limit is required",
		"budget 60":                                  "wrong argument count",
		"budget {\nlimit\n}":                         "wrong argument count",
		"budget {\nlimit 1 2\n}":                     "wrong argument count",
		"budget {\nlimit \"\"\n}":                    "limit is empty",
		"budget {\nlimit 1\nlimit 2\n}":              "limit is given twice",
		"budget {\nlimit 1\nwindow\n}":               "wrong argument count",
		"budget {\nlimit 1\nwindow soon\n}":          "window",
		"budget {\nlimit 1\nwindow 1m\nwindow 2m\n}": "window is given twice",
		"budget {\nlimit 1\ncost 5\n}":               "wrong argument count",
		"budget {\nlimit 1\ncost 5 GET / x\n}":       "wrong argument count",
		"budget {\nlimit 1\nburst 5\n}":              `no option "burst"; there are: name, key, limit, window, cost, charge, on_error`,
		"budget {\nlimit 1\nwindow 0s\n}":            "window 0s is not within 1s..31d",
		"budget {\nlimit 1\nname a b\n}":             "wrong argument count",
		"budget {\nlimit 1\non_error a b\n}":         "wrong argument count",
	} {
		err := new(Handler).UnmarshalCaddyfile(caddyfile.NewTestDispenser(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestAdapt(t *testing.T) {
	t.Parallel()
	const text = `:8080 {
	route {
		budget /v1/* {
			name tokens
			limit {http.auth.user.limit}
			window 5m
			cost 0 GET /v1/models
			charge {http.vars.tokens}
			on_error allow
		}
	}
}
`
	out, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), nil)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	var got any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for _, step := range []any{"apps", "http", "servers", "srv0", "routes", 0, "handle", 0, "routes", 0} {
		switch s := step.(type) {
		case string:
			got = got.(map[string]any)[s]
		case int:
			got = got.([]any)[s]
		}
	}
	var want any
	if err := json.Unmarshal([]byte(`{"match":[{"path":["/v1/*"]}],"handle":[{
		"handler":"budget","name":"tokens","limit":"{http.auth.user.limit}","window":300000000000,
		"costs":[{"cost":"0","method":"GET","pattern":"/v1/models"}],
		"charge":"{http.vars.tokens}","on_error":"allow"}]}`), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %s", out)
	}
}

func TestProvision(t *testing.T) {
	t.Setenv("TOLLGATE_TEST_LIMIT", "7")
	t.Setenv("TOLLGATE_TEST_BRACES", "{http.request.host}")
	h := provision(t, &Handler{Limit: "{env.TOLLGATE_TEST_LIMIT}", Key: "{env.TOLLGATE_TEST_BRACES}"}, nil)
	if units, given, err := h.limit.value(nil); units != 7 || !given || err != nil {
		t.Errorf("limit from the environment: %d, %v, %v", units, given, err)
	}
	if key, ok := h.key.constant(); !ok || key != "{http.request.host}" {
		t.Errorf("key %q was expanded twice", key)
	}
	if h.Name != "default" || time.Duration(h.Window) != time.Minute || h.OnError != "refuse" {
		t.Errorf("defaults: %+v", h)
	}

	const max = "9007199254740991"
	for name, ok := range map[string]bool{
		"a": true, "A-1_b.c": true, strings.Repeat("x", 64): true,
		strings.Repeat("x", 65): false, "a b": false, `a"`: false, "a:b": false, "ü": false, "\xff": false,
	} {
		if err := check(t, &Handler{Name: name, Limit: "1"}); (err == nil) != ok || (err != nil && !strings.Contains(err.Error(), "name")) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	for want, bad := range map[string]*Handler{
		"limit is required":                  {},
		`limit: "-1" is not`:                 {Limit: "-1"},
		`limit: "1.5" is not`:                {Limit: "1.5"},
		`limit: "9007199254740992" is not`:   {Limit: "9007199254740992"},
		"limit: a brace does not":            {Limit: "{x"},
		"key: a brace does not":              {Limit: "1", Key: "{}"},
		"charge: a brace does not":           {Limit: "1", Charge: "{a{b}}"},
		"window 999ms":                       {Limit: "1", Window: caddy.Duration(999 * time.Millisecond)},
		"window 744h0m1s":                    {Limit: "1", Window: caddy.Duration(31*24*time.Hour + time.Second)},
		"window -1m0s":                       {Limit: "1", Window: caddy.Duration(-time.Minute)},
		`on_error "maybe"`:                   {Limit: "1", OnError: "maybe"},
		"cost 1: the number is missing":      {Limit: "1", Costs: []Cost{{Pattern: "*"}}},
		"cost 1: the number is empty":        {Limit: "1", Costs: []Cost{{Cost: "{env.TOLLGATE_TEST_NONE}", Pattern: "*"}}},
		`cost 2: "x" is not`:                 {Limit: "1", Costs: []Cost{{Cost: max, Pattern: "*"}, {Cost: "x", Pattern: "*"}}},
		`cost 1: "GE T" is not a method`:     {Limit: "1", Costs: []Cost{{Cost: "1", Method: "GE T", Pattern: "*"}}},
		`cost 1: pattern "/glob*" has a *`:   {Limit: "1", Costs: []Cost{{Cost: "7", Pattern: "/glob*"}}},
		`cost 1: pattern "" must start`:      {Limit: "1", Costs: []Cost{{Cost: "1"}}},
		`cost 1: pattern "GET /" must start`: {Limit: "1", Costs: []Cost{{Cost: "1", Pattern: "GET /"}}},
	} {
		err := check(t, bad)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", bad, err, want)
		}
	}
}

func TestParseUnits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"0": 0, "7": 7, "600": 600, "9007199254740991": 9007199254740991} {
		if got, given, err := parseUnits(text); got != want || !given || err != nil {
			t.Errorf("%q: %d, %v, %v", text, got, given, err)
		}
	}
	if _, given, err := parseUnits(""); given || err != nil {
		t.Errorf("empty: %v, %v", given, err)
	}
	for _, text := range []string{
		"-1", "+1", " 1", "1 ", "01", "00", "1.0", "1e3", "0x1", "1_000", "١", "9007199254740992",
		"99999999999999999", "18446744073709551616", "\x00", "nil",
	} {
		if got, _, err := parseUnits(text); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}

func FuzzParseUnits(f *testing.F) {
	for _, seed := range []string{"", "0", "00", "600", "-1", "9007199254740991", "9007199254740992"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, given, err := parseUnits(text)
		want, wantErr := strconv.ParseInt(text, 10, 64)
		canonical := wantErr == nil && strconv.FormatInt(want, 10) == text && want >= 0 && want <= counters.MaxUnits
		switch {
		case text == "":
			if given || err != nil {
				t.Fatalf("empty: %v, %v", given, err)
			}
		case canonical != (err == nil) || !given || (canonical && got != want):
			t.Fatalf("%q: %d, %v, %v", text, got, given, err)
		}
	})
}
