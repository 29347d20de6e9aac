package hub

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

func sealer(t *testing.T, keys ...byte) *Sealer {
	t.Helper()
	all := make([][]byte, 0, len(keys))
	for _, k := range keys {
		all = append(all, bytes.Repeat([]byte{k}, 32))
	}
	s, err := NewSealer(all...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealer(t *testing.T) {
	t.Parallel()
	state := State{Provider: "anthropic", Family: "claude", Form: FormSignature, Data: "sig==\n\"ü"}
	s := sealer(t, 1)
	token := s.Seal("alice", state)
	if !strings.HasPrefix(token, "kcs1.") || strings.Contains(token, "anthropic") {
		t.Fatalf("token %q", token)
	}
	if second := s.Seal("alice", state); second == token {
		t.Error("two tokens of one state are equal")
	}
	if got, ok := s.Open("alice", token); !ok || got != state {
		t.Errorf("opened %+v, %t", got, ok)
	}
	if got, ok := sealer(t, 2, 1).Open("alice", token); !ok || got != state {
		t.Errorf("behind a newer key it opened %+v, %t", got, ok)
	}
	for name, wrong := range map[string]struct {
		s           *Sealer
		user, token string
	}{
		"another user": {s, "bob", token},
		"another key":  {sealer(t, 2), "alice", token},
		"changed":      {s, "alice", token[:20] + string(token[20]^1) + token[21:]},
		"cut":          {s, "alice", token[:len(token)-2]},
		"empty":        {s, "alice", "kcs1."},
		"foreign":      {s, "alice", "EqQBCgIYAhIM"},
		"not base64":   {s, "alice", "kcs1.*"},
		"too long":     {s, "alice", "kcs1." + strings.Repeat("A", maxToken)},
		"nothing":      {s, "alice", ""},
	} {
		if got, ok := wrong.s.Open(wrong.user, wrong.token); ok {
			t.Errorf("%s: opened %+v", name, got)
		}
	}
	if got := s.Seal("alice", State{Data: strings.Repeat("x", maxToken)}); got != "" {
		t.Errorf("a state of 64 KB made a token of %d bytes", len(got))
	}
	if _, err := NewSealer(); err == nil {
		t.Error("a sealer without a key was made")
	}
	if _, err := NewSealer([]byte("short")); err == nil {
		t.Error("a sealer of a short key was made")
	}
}

func TestLegalName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("mcp__server__", 9)
	for name, want := range map[string]string{
		"Read":                  "Read",
		"a-b_C9":                "a-b_C9",
		strings.Repeat("x", 64): strings.Repeat("x", 64),
		"":                      "_e3b0c442",
		"files.read":            "filesread_",
		long:                    long[:55] + "_",
		"日本":                    "_",
	} {
		got := LegalName(name)
		if !wire.LegalID(got) || !strings.HasPrefix(got, want) {
			t.Errorf("LegalName(%q) = %q, want %q…", name, got, want)
		}
		if second := LegalName(got); second != got {
			t.Errorf("a legal name changed: %q to %q", got, second)
		}
	}
	if LegalName("files.read") == LegalName("filesread") || LegalName("a.b") == LegalName("a:b") {
		t.Error("two names became one")
	}
}
