package inquiry

import (
	"slices"
	"testing"
)

// TestForms checks that the example of each form is read as one of that form.
func TestForms(t *testing.T) {
	t.Parallel()
	for i := range forms {
		f := &forms[i]
		if q := Read(f.example); q.Op != f.op || !slices.Equal(q.Subjects, f.exampleSubjects) {
			t.Errorf("%q is %q of %q, not %q of %q", f.example, q.Op, q.Subjects, f.op, f.exampleSubjects)
		}
	}
}

// TestThresholds checks what is above or below what, and what is no threshold.
func TestThresholds(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]struct {
		op    Op
		above bool
		limit float64
	}{
		"How many years was net profit above $5 million?":     {Count, true, 5e6},
		"In which years was revenue below 300?":               {Where, false, 300},
		"In which years was net income positive?":             {Where, true, 0},
		"How many stores were larger than 5?":                 {"", true, 5},
		"In which quarter was revenue the lowest?":            {Peak, false, 0},
		"How many percent did revenue grow from 2018 to 2019": {Text, false, 0},
	} {
		q := Read(question)
		if q.Op != want.op || q.Above != want.above || q.Threshold.Value != want.limit {
			t.Errorf("%q is %+v", question, q)
		}
	}
}
