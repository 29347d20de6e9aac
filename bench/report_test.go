package main

import (
	"errors"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	t.Parallel()
	var r report
	r.add(rows[0], []line{atLeast("rate", 2000, 1900, 0.95, 0.9), atLeast("rate", 2000, 1000, 0.5, 0.9), beside("CPU", 12.34, 24.68)}, nil)
	r.add(rows[1], nil, errors.New("no server"))
	var out strings.Builder
	r.print(&out, "a machine")
	expected := []string{
		"a machine",
		"what      plain   tollgate   ratio   aim       verdict",
		"a  rate   2000    1900       0.95    >= 0.90   ok",
		"a  rate   2000    1000       0.50    >= 0.90   below",
		"a  CPU    12.3    24.7       2.00",
	}
	var got []string
	for text := range strings.Lines(strings.TrimSpace(out.String())) {
		got = append(got, strings.TrimSpace(text))
	}
	if strings.Join(got, "\n") != strings.Join(expected, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(expected, "\n"))
	}
	if err := r.failure(); err == nil || !strings.Contains(err.Error(), "row b") {
		t.Errorf("failure %v, want one that names row b", err)
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	got, err := choose("d, a")
	if err != nil || len(got) != 2 || got[0].letter != "d" || got[1].letter != "a" {
		t.Errorf("%v and error %v, want rows d and a", got, err)
	}
	if _, err := choose("a,z"); err == nil {
		t.Error("row z: want an error")
	}
}

// TestPair checks that the ratio is the median of the rounds' ratios and not the ratio of the medians.
func TestPair(t *testing.T) {
	t.Parallel()
	p := pair{
		plain: []sample{{rate: 100, cpu: 10}, {rate: 1000, cpu: 11}, {rate: 400, cpu: 12}},
		other: []sample{{rate: 90, cpu: 15}, {rate: 900, cpu: 15}, {rate: 380, cpu: 19}},
	}
	if got := p.ratio(rateOf); got != 0.9 {
		t.Errorf("ratio %v, want 0.9", got)
	}
	if got := p.difference(cpuOf); got != 5 {
		t.Errorf("difference %v, want 5", got)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median %v, want 2.5", got)
	}
}
