package kernel

import (
	"net/url"
	"testing"
)

// TestCapital checks that a first letter outside ASCII is changed as a whole.
func TestCapital(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"": "", "net sales": "Net sales", "übrige Erträge": "Übrige Erträge", "5 days": "5 days"} {
		if got := Capital(s); got != want {
			t.Errorf("Capital(%q) is %q, not %q", s, got, want)
		}
	}
}

func TestIsHTTP(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://a.example/x": true, "HTTP://a.example": true, "https:///x": false, "ftp://a.example": false, "/x": false,
	} {
		u, err := url.Parse(address)
		if err != nil || IsHTTP(u) != want {
			t.Errorf("%s: not %t (%v)", address, want, err)
		}
	}
}

func TestAddYears(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		day   Day
		years int
		want  Day
	}{{"2019-06-30", 1, "2020-06-30"}, {"2019-02-28", 1, "2020-02-29"}, {"2020-02-29", -1, "2019-02-28"}, {"2019-09-28", -2, "2017-09-28"}} {
		if got := c.day.AddYears(c.years); got != c.want {
			t.Errorf("%d years after %s is %s, not %s", c.years, string(c.day), string(got), string(c.want))
		}
	}
}
