package formats_test

import (
	"slices"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// TestTable checks that every row is found by its names, and only at its path.
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
		path, model := facts.Base+facts.Path, ""
		if facts.ModelPath != "" {
			model = "arn:aws:bedrock:us-east-1::inference-profile/anthropic.claude:0"
			path = facts.ModelPath + model + facts.Path
		}
		if got, ok := formats.At(path); !ok || got != (formats.Place{Format: f, Base: facts.Base, Model: model}) {
			t.Errorf("%s: %+v", path, got)
		}
		if facts.StreamPath != "" {
			path := "/some/base" + facts.ModelPath + model + facts.StreamPath
			if got, ok := formats.At(path); !ok || got != (formats.Place{Format: f, Base: "/some/base", Model: model, Stream: true}) {
				t.Errorf("%s: %+v", path, got)
			}
		}
		_, counts := f.(formats.Counter)
		if counts != (facts.Count != "") {
			t.Errorf("%s: exactly the formats that count tokens must have a path for it", facts.Name)
		}
		if got, ok := formats.At(path + facts.Count); counts && (!ok || got != (formats.Place{Format: f, Base: facts.Base, Count: true})) {
			t.Errorf("%s%s: %+v", path, facts.Count, got)
		}
		_, edits := f.(formats.Editor)
		if _, direct := f.(formats.Native); edits && direct {
			t.Errorf("%s: a format must not be both an Editor and Native", facts.Name)
		}
	}
	if !slices.IsSorted(surfaces) || formats.Chat().Facts().Name != hub.Chat {
		t.Errorf("the order is %v", surfaces)
	}
	if _, ok := formats.Of("images"); ok {
		t.Error("a format without a row was found")
	}
	for _, path := range []string{
		"", "/", "/v1/messages/", "/v1/chat/completions/count_tokens", "/v1/models",
		"/model/converse", "/model//converse", "/converse", "/model/m/converse/", "/model/../users/x/converse", "/model/m/../converse-stream",
	} {
		if place, ok := formats.At(path); ok {
			t.Errorf("%s is %s", path, place.Format.Facts().Name)
		}
	}
}
