package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/statements"
)

// prepareFile reads a file of one document and prepares it.
func prepareFile(t *testing.T, name string) *prepared {
	t.Helper()
	path := filepath.Join("fileformat", "testdata", name)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	var p *prepared
	err = fileformat.ReadFile(t.Context(), fileformat.File{Path: path, Size: info.Size()}, name, fileformat.Source{}, func(s fileformat.Source, err error) error {
		if err == nil {
			p, err = prepare(s)
		}
		return err
	})
	if err != nil || p == nil {
		t.Fatalf("%s cannot be prepared: %v", name, err)
	}
	return p
}

// TestPrepareFiles checks the facts of documents in several formats: for each metric and period there is one value.
func TestPrepareFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"companyfacts.json": {
			"revenue 2019-09-30 12 1.4966e+09", "revenue 2019-09-30 3 4e+08", "total_assets 2019-09-30 0 2e+09",
			"eps_basic 2019-09-30 12 -1.25",
		},
		"filing.html": {"revenue 2024-09-28 12 3.91035e+11"},
		"financials.xlsx": {
			"revenue 2019-09-28 12 2.601e+09", "revenue 2018-09-29 12 2.655e+09", "operating_income 2019-09-28 12 6.39e+08",
			"net_income 2018-09-29 12 5.95e+08", "cash 2019-09-28 0 4.88e+08", "total_assets 2018-09-29 0 3.657e+09",
		},
	} {
		p := prepareFile(t, name)
		if len(p.vectors) != len(p.chunks) {
			t.Errorf("%s: %d vectors for %d chunks", name, len(p.vectors), len(p.chunks))
		}
		values := make(map[fileformat.FactKey]float64)
		var facts []string
		for _, f := range p.facts {
			key := fileformat.KeyOf(f.Fact)
			if first, ok := values[key]; ok && first != f.Figure.Value {
				t.Errorf("%s: %+v is %v and %v", name, key, first, f.Figure.Value)
			}
			values[key] = f.Figure.Value
			facts = append(facts, fmt.Sprintf("%s %s %d %g", f.Metric, string(f.Period.End), f.Period.Months, f.Figure.Value))
		}
		for _, fact := range want {
			if !slices.Contains(facts, fact) {
				t.Errorf("%s: no fact %q in %q", name, fact, facts)
			}
		}
	}
}

// TestTaggedFactsHaveChunks checks that a fact from the tags of a report refers to the chunk that contains its table.
func TestTaggedFactsHaveChunks(t *testing.T) {
	t.Parallel()
	for _, f := range prepareFile(t, "filing.html").facts {
		if f.Metric == "revenue" && (f.chunk < 0 || f.Sure != statements.Tagged) {
			t.Errorf("the chunk of the revenue is unknown: %+v", f)
		}
	}
}
