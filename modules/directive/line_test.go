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
		"url x://first is not a URL": 5,
		"retrying: what":             1,
		"mirrors: one: retry: never": 6,
		"x://second cannot be used":  9,
	} {
		if got := (place{tokens: tokens}).line(message).Line; got != want {
			t.Errorf("%s: line %d, want %d", message, got, want)
		}
	}
	short := tokens[:1]
	if got := (place{tokens: tokens, expandedFrom: short, generatedFile: "Caddyfile"}).line("mirrors: two: url: bad").Line; got != 1 {
		t.Errorf("a line of a long form: %d", got)
	}
}

// TestExplainParsing checks that the lines that parsing errors name at their end are found.
func TestExplainParsing(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"Caddyfile:2: unrecognized directive: x":                                                 "Caddyfile:2: unrecognized directive: x",
		"parsing caddyfile tokens for 'budget': limit is required, at dir/Caddyfile:7":           "dir/Caddyfile:7: limit is required",
		"parsing caddyfile tokens for 'a': parsing caddyfile tokens for 'b': no, at F:1, at x:9": "F:1: no",
		"parsing caddyfile tokens for 'a': no, at F:4 import chain ['F:10 (import x)'], at y:61": "F:4: no",
		"syntax error: unexpected token 'x', at F:2 import chain: ['']":                          "F:2: syntax error: unexpected token 'x'",
		"parsing caddyfile tokens for 'a': no, at Caddyfile:2":                                   "Caddyfile:2: no; the environment variable TOLLGATE_TEST_NOT_SET in this line is not set",
		"parsing caddyfile tokens for 'a': no, at Caddyfile:3":                                   "Caddyfile:3: no",
		"parsing caddyfile tokens for 'a': no, at Caddyfile:9":                                   "Caddyfile:9: no",
		"parsing key: port 99999 is out of range":                                                "parsing key: port 99999 is out of range",
	} {
		if got := Explain("Caddyfile", []byte("a\nb {$TOLLGATE_TEST_NOT_SET}\nb {$TOLLGATE_TEST_NOT_SET:x}"), errors.New("adapting config using caddyfile: "+message)); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

// TestExplainUnknownErrors checks that Explain returns "" for errors that it does not know.
func TestExplainUnknownErrors(t *testing.T) {
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
