package memory

import (
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"
)

func TestUnmarshalCaddyfile(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"memory":                 true,
		"memory {\n}":            true,
		"memory big":             false,
		"memory {\n\tsize 10\n}": false,
	} {
		if err := new(Memory).UnmarshalCaddyfile(caddyfile.NewTestDispenser(text)); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	if new(Memory).Key() != new(Memory).Key() {
		t.Error("two loads do not share a key")
	}
	s, err := new(Memory).Open(zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if res, err := s.Take(t.Context(), "key", 1, 1, time.Minute); err != nil || !res.Allowed {
		t.Errorf("%+v, %v", res, err)
	}
}
