package runevents

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
)

// TestVary checks the name, the times and the ID of another node's run.
func TestVary(t *testing.T) {
	t.Parallel()
	for _, p := range realReports(t) {
		before := parsed(t, 8, p.body)
		text, err := Vary(p.body, "other.example.com", 36*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		after := parsed(t, 8, text)
		const shift = 36 * 60 * 60 * 1000
		if after.certname != "other.example.com" || after.producerTimestamp-before.producerTimestamp != shift || after.end-before.end != shift ||
			after.hash == before.hash || after.transactionUUID == before.transactionUUID || len(after.events) != len(before.events) {
			t.Errorf("%s: %s %d %d, %d events of %d", p.name, after.certname, after.producerTimestamp-before.producerTimestamp, after.end-before.end, len(after.events), len(before.events))
		}
		for i := range after.events {
			if after.events[i].timestamp-before.events[i].timestamp != shift {
				t.Errorf("%s: event %d was not shifted", p.name, i)
			}
		}
		if strings.Contains(string(text), before.certname) {
			t.Errorf("%s: the old name is left", p.name)
		}
	}
	for _, bad := range []string{"", "{", "{}", `{"certname":""}`} {
		if _, err := Vary([]byte(bad), "x", 0); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestPlainTextIsCanonical checks that a text that the parser keeps unchanged is in its canonical form.
func TestPlainTextIsCanonical(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`""`, `"a b"`, `"<a href='x'>&amp;</a>"`, `"ünï ☃ 😀"`, `"{\"md5\"}"`, `"0644"`, "\"\x7f\"", "\"\u2028\u2029\""} {
		r := &reader{scanner: newScanner([]byte(text))}
		got := r.value()
		want, err := syntax.Canonical([]byte(text))
		if err != nil || got.String != want {
			t.Errorf("%s is kept as %s, queries compare with %s (%v)", text, got.String, want, err)
		}
	}
}
