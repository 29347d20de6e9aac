package formats_test

import (
	"slices"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// TestTable: every row is found by its names and at its path alone.
func TestTable(t *testing.T) {
	t.Parallel()
	all := formats.All()
	surfaces := make([]string, 0, len(all))
	for _, f := range all {
		facts := f.Facts()
		surfaces = append(surfaces, facts.Surface)
		if got, ok := formats.Of(facts.Name); !ok || got != f {
			t.Errorf("%s is not found by its name", facts.Name)
		}
		if got, ok := formats.OfSurface(facts.Surface); !ok || got != f {
			t.Errorf("%s is not found by its surface", facts.Surface)
		}
		if got, base, count, ok := formats.At("/v1" + facts.Path); !ok || got != f || base != "/v1" || count {
			t.Errorf("%s: %v, below %q, count %v", facts.Path, got, base, count)
		}
		_, counts := f.(formats.Counter)
		if counts != (facts.Count != "") {
			t.Errorf("%s: who counts says where, and nobody else", facts.Name)
		}
		if got, base, count, ok := formats.At("/v1" + facts.Path + facts.Count); counts && (!ok || got != f || base != "/v1" || !count) {
			t.Errorf("%s%s: %v, below %q, count %v", facts.Path, facts.Count, got, base, count)
		}
		_, edits := f.(formats.Editor)
		if _, direct := f.(formats.Native); edits == direct {
			t.Errorf("%s: there is one way for a client's own bytes", facts.Name)
		}
	}
	if !slices.IsSorted(surfaces) || formats.Chat().Facts().Name != hub.Chat {
		t.Errorf("the order is %v", surfaces)
	}
	if _, ok := formats.Of("images"); ok {
		t.Error("a format without a row was found")
	}
	for _, path := range []string{"", "/", "/v1/messages/", "/v1/chat/completions/count_tokens", "/v1/models"} {
		if f, _, _, ok := formats.At(path); ok {
			t.Errorf("%s is %s", path, f.Facts().Name)
		}
	}
}
