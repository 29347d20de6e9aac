package redis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

func TestUnmarshalCaddyfile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Redis{
		"redis redis://h":                                             {URL: "redis://h"},
		"redis {env.URL} {\n\ttimeout 2s\n}":                          {URL: "{env.URL}", Timeout: caddy.Duration(2 * time.Second)},
		"redis redis://h {\n\tprefix \"edge:\"\n\ttimeout 100ms\n\t}": {URL: "redis://h", Prefix: "edge:", Timeout: caddy.Duration(100 * time.Millisecond)},
	} {
		var got Redis
		if err := got.UnmarshalCaddyfile(caddyfile.NewTestDispenser(text)); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"redis":                            "wrong argument count",
		"redis a b":                        "wrong argument count",
		"redis a {\n\ttimeout\n}":          "wrong argument count",
		"redis a {\n\ttimeout 1 2\n}":      "wrong argument count",
		"redis a {\n\tprefix a b\n}":       "wrong argument count",
		"redis a {\n\ttimeout soon\n}":     "timeout",
		"redis a {\n\tpassword x\n}":       `unknown option "password"`,
		"redis a {\nprefix a\nprefix b\n}": "given twice",
	} {
		err := new(Redis).UnmarshalCaddyfile(caddyfile.NewTestDispenser(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestProvision(t *testing.T) {
	t.Setenv("TOLLGATE_TEST_REDIS_URL", "redis://:secret@localhost:6380/2")
	t.Setenv("TOLLGATE_TEST_BAD_URL", "redis://:sec/ret@localhost")
	r := &Redis{URL: "{env.TOLLGATE_TEST_REDIS_URL}"}
	if err := check(r); err != nil {
		t.Fatal(err)
	}
	if r.URL != "{env.TOLLGATE_TEST_REDIS_URL}" {
		t.Error("the placeholder was replaced in the config")
	}
	if time.Duration(r.Timeout) != 500*time.Millisecond || r.Prefix != "tollgate:" {
		t.Errorf("defaults: %s %q", time.Duration(r.Timeout), r.Prefix)
	}
	same := &Redis{URL: "redis://:secret@localhost:6380/2", Timeout: caddy.Duration(500 * time.Millisecond)}
	other := &Redis{URL: "redis://:secret@localhost:6380/3"}
	if check(same) != nil || check(other) != nil || r.Key() != same.Key() || r.Key() == other.Key() {
		t.Error("the key does not follow the settings")
	}
	if strings.Contains(fmt.Sprintf("%+v", r.Key()), "secret") {
		t.Error("the key shows the password")
	}

	for want, bad := range map[string]*Redis{
		"url is required":                 {},
		"TOLLGATE_TEST_NONE":              {URL: "{env.TOLLGATE_TEST_NONE}"},
		"unrecognized":                    {URL: "{nothing}"},
		"url: redis url: the scheme":      {URL: "http://h"},
		"url: redis url: not a valid URL": {URL: "{env.TOLLGATE_TEST_BAD_URL}"},
		"timeout 1m0s":                    {URL: "redis://h", Timeout: caddy.Duration(time.Minute)},
		"timeout -1s":                     {URL: "redis://h", Timeout: caddy.Duration(-time.Second)},
	} {
		err := check(bad)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sec/") {
			t.Errorf("%+v: %v, want %s", bad, err, want)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	r := &Redis{URL: testenv.Redis(t).URL(), Timeout: caddy.Duration(10 * time.Second)}
	if err := check(r); err != nil {
		t.Fatal(err)
	}
	s, err := r.Open(zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if res, err := s.Take(t.Context(), "key", 1, 1, time.Minute); err != nil || !res.Allowed {
		t.Errorf("%+v, %v", res, err)
	}
}

func check(r *Redis) error {
	if err := r.Provision(caddy.Context{}); err != nil {
		return err
	}
	return r.Validate()
}
