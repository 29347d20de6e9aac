package content_test

import (
	"fmt"
	"strings"
	"testing"
)

// words returns n words that no other call returns.
func words(call, n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "word%dx%d ", call, i)
	}
	return text.String()
}

// TestSQLiteWordIndexHasSmallLeaves checks that SQLite's index of words has small leaves, so that a save that merges
// some of them is fast.
func TestSQLiteWordIndexHasSmallLeaves(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t))
	for i := range 20 {
		s.post(s.top, fmt.Sprint("Page ", i), map[string]any{"body": words(i, 200)})
	}
	if n, maxSize := s.number("SELECT count(*) FROM cms_search_data"), s.number("SELECT max(length(block)) FROM cms_search_data"); n < 20 || maxSize > 1100 {
		t.Errorf("the largest of %d leaves has %d bytes", n, maxSize)
	}
	if got := s.titles(s.guest, "body~=word7x5 word7x199"); got != "Page 7" {
		t.Errorf("found %q", got)
	}
}

// TestPostgresWordIndexHasShortPendingList checks that the pending list of PostgreSQL's index of words is short, so
// that a save that moves it into the index is fast.
func TestPostgresWordIndexHasShortPendingList(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.Postgres(t))
	s.exec("CREATE EXTENSION pgstattuple")
	maxPending := int64(0)
	for i := range 40 {
		s.post(s.top, fmt.Sprint("Page ", i), map[string]any{"body": words(i, 4000)})
		maxPending = max(maxPending, s.number("SELECT pending_pages FROM pgstatginindex('cms_page_values_words')"))
	}
	if maxPending == 0 || maxPending > 512<<10/8192+1 {
		t.Errorf("%d pages wait", maxPending)
	}
	if got := s.titles(s.guest, "body~=word7x5 word7x199"); got != "Page 7" {
		t.Errorf("found %q", got)
	}
}
