package metrics

import (
	"slices"
	"testing"
)

func TestKey(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"Wexlermere Inc.":       {"wexlermere inc", "wexlermere"},
		"The Brant & Point Co.": {"brant and point co", "brant and point"},
		"Enel S.p.A.":           {"enel spa", "enel"},
		"Limited":               {"limited", "limited"},
		"Delmarwick’s Partners": {"delmarwicks partners", "delmarwicks"},
	} {
		if got := [2]string{Key(name), Short(name)}; got != want {
			t.Errorf("%q is %q, not %q", name, got, want)
		}
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	d := NewDirectory([]Named{
		{1, "Wexlermere Inc.", false},
		{1, "WXM", true},
		{2, "Brantpoint Industries", false},
		{2, "Brantpoint", false},
		{2, "T", true},
		{3, "Ross & Son plc", false},
		{4, "General", false},
		{5, "Brantpoint Capital", false},
	})
	for question, want := range map[string][]int64{
		"What was Wexlermere's revenue in 2019?":      {1},
		"Regarding wexlermere inc.: what is its EPS?": {1},
		"WXM revenue, and Brantpoint Industries'?":    {1, 2},
		"Does Brantpoint Capital pay?":                {5},
		"What did Ross & Son earn in general?":        {3},
		"Wexlremere Corporation's margin":             {1},
		"Wexlermer margin":                            {1},
		"Is T good? And ($T)?":                        {2},
		"what is the revenue of the company":          nil,
	} {
		var got []int64
		for _, m := range d.Find(question) {
			got = append(got, m.Issuers...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q names %v, not %v", question, got, want)
		}
	}
	m := d.Find("Of Wexlermere Incorporated, the cost")
	if len(m) != 1 || "Of Wexlermere Incorporated, the cost"[m[0].Start:m[0].End] != "Wexlermere Incorporated" {
		t.Errorf("%+v", m)
	}
}

func FuzzFind(f *testing.F) {
	d := NewDirectory([]Named{{1, "Wexlermere Inc.", false}, {1, "WXM", true}, {3, "Ross & Son plc", false}})
	f.Add("Wexlremere's & Ross & Son’s (WXM) S.p.A. \xff")
	f.Fuzz(func(t *testing.T, s string) {
		last := 0
		for _, m := range d.Find(s) {
			if m.Start < last || m.End <= m.Start || m.End > len(s) || len(m.Issuers) == 0 {
				t.Errorf("%+v in %q", m, s)
			}
			last = m.End
		}
	})
}

// TestHeads checks that people may call an issuer by the first word of its name if no other issuer has it and
// it is no everyday word.
func TestHeads(t *testing.T) {
	t.Parallel()
	d := NewDirectory([]Named{
		{Issuer: 1, Name: "Tarnwick Foods plc"},
		{Issuer: 2, Name: "Quillmarsh Instruments Inc."},
		{Issuer: 3, Name: "Advanced Widgets Inc."},
		{Issuer: 4, Name: "Brantpoint Industries"},
		{Issuer: 5, Name: "Brantpoint Foods"},
		{Issuer: 6, Name: "Ostrelle Pharma AG"},
		{Issuer: 7, Name: "Green Ostrelle Inc."},
	})
	for text, want := range map[string]int64{
		"What was Tarnwick's revenue?":         1,
		"revenue of tarnwick":                  1,
		"quilmarsh revenue FY25":               2,
		"What did Quillmarsh Instrument make?": 2,
		"Advanced chips":                       0,
		"What is Brantpoint worth?":            0,
		"What is Ostrelle worth?":              0,
		"The tarnwick of a House":              0, // a word like any, where others begin with a capital
	} {
		found := d.Find(text)
		got := int64(0)
		if len(found) == 1 && len(found[0].Issuers) == 1 {
			got = found[0].Issuers[0]
		}
		if got != want || len(found) > 1 {
			t.Errorf("%q: %+v, not %d", text, found, want)
		}
	}
}
