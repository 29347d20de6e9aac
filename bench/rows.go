package main

import (
	"context"
	"fmt"
	"strings"
)

// row is one subject of the table. It may have several lines in the table.
type row struct {
	letter string
	title  string
	// measure measures the row. It starts a separate server, so that no row affects another row.
	measure func(ctx context.Context, b *bench) ([]line, error)
}

// rows lists all rows in the order of their letters.
var rows = []row{
	{"a", "1 KB chat, not streamed", wholeRow},
	{"b", "stream of 100 chunks", streamRow},
	{"c", "200 KB request body", largeRow},
	{"d", "auth and budget before reverse_proxy", guardRow},
	{"e", "1,000 idle open streams", idleRow},
	{"f", "time to the first byte", firstByteRow},
	{"g", "1,000,000 streamed events", eventsRow},
	{"h", "50 reloads under load", reloadRow},
	{"i", "usage log in SQLite at a high rate", usageRow},
	{"j", "translated streams of 100 chunks", translatedRow},
	{"k", "500 idle open streams, translated", translatedIdleRow},
	{"l", "75 KB request with 24 tools, translated", toolsRow},
	{"m", "reports over a usage log in SQLite", usageReportRow},
	{"n", "run events in SQLite (plain: in PostgreSQL), and queries over them", runEventsRow},
	{"o", "board in SQLite and PostgreSQL", boardRow},
	{"p", "memory of what others claim, and dead connections", memoryRow},
	{"q", "authorization server in SQLite and PostgreSQL", authserverRow},
	{"r", "content of a CMS in SQLite and PostgreSQL", cmsRow},
	{"s", "handlers of a CMS, in JavaScript and Go", handlersRow},
	{"t", "answers from a large corpus in SQLite (plain: in PostgreSQL)", answerRow},
	{"u", "pages about a large organisation in SQLite (plain: in PostgreSQL)", teamRow},
	{"v", "authorization server beside the npm package oidc-provider", oidcProviderRow},
	{"w", "import of a forum of phpBB into a board in SQLite", importRow},
}

// choose returns the rows in a list such as "a,c", or all rows if the list is empty.
func choose(list string) ([]row, error) {
	if list == "" {
		return rows, nil
	}
	var chosen []row
	for letter := range strings.SplitSeq(list, ",") {
		found := false
		for _, r := range rows {
			if r.letter == strings.TrimSpace(letter) {
				chosen = append(chosen, r)
				found = true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no row %q; they are a to %s", letter, rows[len(rows)-1].letter)
		}
	}
	return chosen, nil
}
