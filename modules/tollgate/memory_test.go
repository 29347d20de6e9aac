package tollgate

import (
	"maps"
	"slices"
	"testing"
)

// TestMemoryMetrics checks that the metrics report the size of the memory, how much of it is taken, and how many
// requests were refused for lack of it.
func TestMemoryMetrics(t *testing.T) {
	t.Chdir(t.TempDir())
	a := provision(t, `{"memory":200000000}`)
	defer func() {
		if err := a.release(); err != nil {
			t.Error(err)
		}
	}()
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	share, none := a.MemoryBudget().Share(""), a.MemoryBudget().Share("")
	defer share.Free()
	if err := share.Grow(t.Context(), 12345); err != nil {
		t.Fatal(err)
	}
	if none.Grow(t.Context(), 200000001) == nil {
		t.Fatal("there is more memory than was given")
	}
	families, err := a.ctx.GetMetricsRegistry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			got[f.GetName()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	for name, want := range map[string]float64{"tollgate_memory_taken_bytes": 12345, "tollgate_memory_size_bytes": 200000000, "tollgate_memory_refused_total": 1} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v, want %v; there are %v", name, value, want, slices.Sorted(maps.Keys(got)))
		}
	}
}
