package cascade

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

func TestLabel(t *testing.T) {
	t.Parallel()
	const (
		chat      = `{"model":"m","messages":[{"role":"user","content":"Hi"}]`
		responses = `{"model":"m","input":[{"role":"user","content":"Hi"}]`
		messages  = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]`
	)
	long := strings.Repeat("u", 200)
	for name, test := range map[string]struct {
		path   string
		header []string
		body   string
		tags   string
		user   string
	}{
		"nothing":          {"chat/completions", nil, chat + `}`, "", ""},
		"header":           {"chat/completions", []string{" nightly, a b,,nightly", "c"}, chat + `}`, "nightly|a b|c", ""},
		"chat":             {"chat/completions", []string{"h"}, chat + `,"user":"cus-1","metadata":{"tags":"x, h","user_id":7}}`, "h|x", "cus-1"},
		"chat list":        {"chat/completions", nil, chat + `,"metadata":{"tags":["x",1,"y,z"]},"safety_identifier":"s"}`, "x|y|z", "s"},
		"chat odd":         {"chat/completions", nil, chat + `,"metadata":"x","user":""}`, "", ""},
		"responses":        {"responses", nil, responses + `,"user":"u","safety_identifier":"s","metadata":{"tags":"x"}}`, "x", "s"},
		"responses user":   {"responses", nil, responses + `,"user":"u"}`, "", "u"},
		"messages":         {"messages", []string{"h"}, messages + `,"metadata":{"user_id":"u"}}`, "h", "u"},
		"messages nothing": {"messages", nil, messages + `}`, "", ""},
		"long":             {"chat/completions", nil, chat + `,"user":"` + long + `","metadata":{"tags":"` + long + `,short"}}`, "short", long[:maxEndUser]},
		"control":          {"chat/completions", nil, chat + `,"user":"a\u0000b\n","metadata":{"tags":"a\u0001"}}`, "", "ab"},
	} {
		place, ok := formats.At("/v1/" + test.path)
		if !ok {
			t.Fatal(test.path)
		}
		q := new(Request)
		if err := q.Read(place.Format, []byte(test.body), hub.ReadOptions{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := q.Label(http.Header{TagsHeader: test.header}, []byte(test.body)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := strings.Join(q.Tags, "|"); got != test.tags || q.EndUser != test.user {
			t.Errorf("%s: tags %q, want %q; for %q, want %q", name, got, test.tags, q.EndUser, test.user)
		}
		q.Release()
	}
	for name, header := range map[string][]string{"many": {"1,2,3,4,5,6,7,8,9,10,11"}, "long": {long}, "broken": {"a\xff"}, "control": {"a\x01"}} {
		q := new(Request)
		err := q.Label(http.Header{TagsHeader: header}, []byte("{}"))
		if refusal, ok := apierror.From(err); !ok || refusal.Status != http.StatusBadRequest || refusal.Param != "x-gateway-tags" {
			t.Errorf("%s: error %v", name, err)
		}
	}
	// Excess labels of a body are left out.
	q := new(Request)
	if err := q.Label(nil, []byte(`{"metadata":{"tags":"1,2,3,4,5,6,7,8,9,10,11"}}`)); err != nil || len(q.Tags) != maxTags || slices.Contains(q.Tags, "11") {
		t.Errorf("%q, error %v", q.Tags, err)
	}
}
