package pages

import (
	"strings"
	"testing"
)

// TestDiff checks that a diff contains both texts completely, and common lines once.
func TestDiff(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a\n", maxDiff+1)
	for _, test := range []struct{ before, after, want string }{
		{"a\nb\nc", "a\nb\nc", " a b c"},
		{"a\nb\nc", "a\nx\nc", " a-b+x c"},
		{"a\nb", "b\na", "-a b+a"},
		{"", "a", "-+a"},
		{"a\nb\nc\nd", "b\nd\ne", "-a b-c d+e"},
		{"x\n" + long + "y", "z\n" + long + "w", ""}, // one after the other
	} {
		var got, before, after strings.Builder
		for _, c := range Diff(test.before, test.after) {
			got.WriteString(map[string]string{"same": " ", "gone": "-", "came": "+"}[c.Kind] + c.Text)
			if c.Kind != "came" {
				before.WriteString(c.Text + "\n")
			}
			if c.Kind != "gone" {
				after.WriteString(c.Text + "\n")
			}
		}
		if test.want != "" && got.String() != test.want {
			t.Errorf("%q to %q: %q, want %q", test.before, test.after, got.String(), test.want)
		}
		if before.String() != test.before+"\n" || after.String() != test.after+"\n" {
			t.Errorf("%.40q to %.40q: the diff lost something", test.before, test.after)
		}
	}
}
