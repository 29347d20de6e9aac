package intake

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want, wrong string }{
		{"", "", ""},
		{"# filings\n\n https://a.example/1 \r\nhttp://b.example/2.pdf?x=1\nhttps://a.example/1\n", "https://a.example/1 http://b.example/2.pdf?x=1", ""},
		{"https://a.example/1\nfile:///etc/passwd\nhttps://b.example\n", "https://a.example/1 https://b.example", "line 2"},
		{"https://user:secret@a.example/1", "", "line 1 is not an http or https URL without a user name"},
		{"https://a.example/with blanks", "", "line 1"},
		{strings.Repeat("#", maxList), "", "too long"},
		{strings.Repeat("# comment\n", maxList/10+1), "", "more than"},
	} {
		got, err := parse(strings.NewReader(c.text))
		if strings.Join(got, " ") != c.want || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("parse(%.60q) = %q, %v, want %q and the error %q", c.text, got, err, c.want, c.wrong)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("# a\nhttps://a.example/1\nftp://b\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, _ := parse(strings.NewReader(text))
		for _, address := range got {
			if !strings.HasPrefix(strings.ToLower(address), "http") || strings.ContainsAny(address, "\n\x00 ") {
				t.Errorf("%q", address)
			}
		}
	})
}
