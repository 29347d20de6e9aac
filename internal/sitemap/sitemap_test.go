package sitemap_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/sitemap"
)

func TestWriter(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := sitemap.Pages(&out)
	w.Add("https://example.com/a?b=1&c=<2>", time.Date(2026, 1, 2, 4, 4, 5, 6, time.FixedZone("", 3600)))
	w.Add("https://example.com/", time.Time{})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://example.com/a?b=1&amp;c=&lt;2&gt;</loc><lastmod>2026-01-02T03:04:05Z</lastmod></url>
<url><loc>https://example.com/</loc></url>
</urlset>
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestWriterTellsOfErrors(t *testing.T) {
	t.Parallel()
	w := sitemap.Parts(broken{})
	for range 1000 {
		w.Add("https://example.com/part", time.Time{})
	}
	if w.Close() == nil {
		t.Error("a failed write is not reported")
	}
}
