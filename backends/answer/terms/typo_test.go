package terms

import "testing"

func TestSlip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"margin", "margn", true},
		{"margin", "marrgin", true},
		{"margin", "margim", true},
		{"margin", "amrgin", true},
		{"margin", "margins", true},
		{"margin", "margin", false},
		{"margin", "marnig", false},
		{"margin", "marg", false},
		{"ab", "ba", true},
		{"", "a", true},
		{"", "", false},
	} {
		if got := Slip(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %v", c.a, c.b, got)
		}
		if got := Slip(c.b, c.a); got != c.want {
			t.Errorf("%q, %q: %v", c.b, c.a, got)
		}
	}
}
