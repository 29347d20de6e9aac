package directive

import (
	"errors"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

func TestLine(t *testing.T) {
	t.Parallel()
	tokens, err := caddyfile.Tokenize([]byte(`limits {
	cost 1 /a
	cost 2 /ab
	mirror one {
		url x://first
		retry
	}
	mirror two {
		url x://second
	}
}`), "Caddyfile")
	if err != nil {
		t.Fatal(err)
	}
	for message, want := range map[string]int{
		"nothing is known":           1,
		"limits are required":        1,
		"cost 2: it is too much":     3,
		"cost 1: pattern \"/ab\"":    3,
		"costs: none":                2,
		"mirrors: two: url: bad":     9,
		"url x://first is no URL":    5,
		"retrying: what":             1,
		"mirrors: one: retry: never": 6,
		"x://second cannot be used":  9,
	} {
		if got := (place{tokens: tokens}).line(message).Line; got != want {
			t.Errorf("%s: line %d, want %d", message, got, want)
		}
	}
	short := tokens[:1]
	if got := (place{tokens: tokens, short: short, long: "Caddyfile"}).line("mirrors: two: url: bad").Line; got != 1 {
		t.Errorf("a line of a long form: %d", got)
	}
}

// What it does not know it says nothing of.
func TestExplainNothing(t *testing.T) {
	t.Parallel()
	text := []byte("http://localhost {\n\trespond hi\n}\n")
	for _, message := range []string{
		"", "listen tcp :80: bind: permission denied", "loading http app module: provision http: server srv9: setting up route handlers: route 7: loading handler modules: position 3: x",
		"loading nothing app module: provision nothing: x", "HTTP 400: {", `HTTP 400: {"error":1}`,
	} {
		if got := Explain("Caddyfile", text, errors.New(message)); got != "" {
			t.Errorf("%q: %q", message, got)
		}
	}
	if got := Explain("Caddyfile", []byte("{{{"), errors.New("loading tollgate app module: x")); got != "" {
		t.Error(got)
	}
}
