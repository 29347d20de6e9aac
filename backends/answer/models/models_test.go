package models

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

func TestChat(t *testing.T) {
	t.Parallel()
	answer := `{"model":"m-1","choices":[{"message":{"role":"assistant","content":"` + "```json\\n{\\\"n\\\":7}\\n```" + `"}}],"usage":{"prompt_tokens":5,"completion_tokens":3}}`
	status := http.StatusOK
	var got chatRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || r.Method != http.MethodPost {
			t.Errorf("%s %v", r.Method, r.Header)
		}
		body, _ := io.ReadAll(r.Body)
		got = chatRequest{}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	c := &Chat{URL: server.URL, Key: "secret", Names: map[Tier]string{High: "best"}, Client: Guarded(loopback)}

	type number struct{ N int }
	n, response, err := JSON[number](t.Context(), c, Request{Tier: High, Messages: []Message{{"user", "hi"}}, Schema: json.RawMessage(`{"type":"object"}`), Name: "n"})
	if err != nil || n.N != 7 || response.Model != "m-1" || response.Usage != (Usage{5, 3}) {
		t.Errorf("%+v %+v %v", n, response, err)
	}
	if got.Model != "best" || got.ResponseFormat == nil || got.ResponseFormat.Schema.Name != "n" || got.MaxTokens != 1024 {
		t.Errorf("%+v", got)
	}
	if _, err := c.Complete(t.Context(), Request{Tier: Low}); err != nil || got.Model != "keychain-low" || got.ResponseFormat != nil {
		t.Errorf("%+v %v", got, err)
	}

	for name, bad := range map[string]struct {
		status int
		answer string
	}{
		"refused": {http.StatusTooManyRequests, `{}`}, "none": {http.StatusOK, `{"choices":[]}`}, "no JSON": {http.StatusOK, `<html>`},
		"too long": {http.StatusOK, strings.Repeat("x", maxAnswer+1)}, "redirect": {http.StatusFound, ""},
	} {
		status, answer = bad.status, bad.answer
		if _, err := c.Complete(t.Context(), Request{}); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Complete(ctx, Request{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestGuarded checks that only public and allowed addresses are connected to.
func TestGuarded(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") }))
	defer server.Close()
	if _, err := (&Chat{URL: server.URL}).Complete(t.Context(), Request{}); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
}
