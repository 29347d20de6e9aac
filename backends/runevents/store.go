package runevents

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// SchemaName is the name of the service among those that have a database.
const SchemaName = "events"

// Schema is the tables of the service.
func Schema() store.Schema { return store.Embedded(SchemaName, migrations) }

// Statements of the writer. Connections keep them prepared by their text.
const (
	// A report that is younger than what took its node away brings it back.
	nodeStatement = `INSERT INTO run_nodes (certname) VALUES (?) ON CONFLICT (certname) DO UPDATE SET
		deactivated_at = CASE WHEN run_nodes.deactivated_at < ? THEN NULL ELSE run_nodes.deactivated_at END,
		expired_at = CASE WHEN run_nodes.expired_at < ? THEN NULL ELSE run_nodes.expired_at END
		RETURNING id`
	latestStatement = `UPDATE run_nodes SET latest_report = ?, latest_timestamp = ? WHERE id = ? AND (latest_timestamp IS NULL OR latest_timestamp < ?)`
	reportStatement = `INSERT INTO run_reports (hash, node, environment, status, type, noop, noop_pending, corrective_change, puppet_version,
		report_format, configuration_version, start_time, end_time, producer_timestamp, receive_time, producer, transaction_uuid, catalog_uuid,
		code_id, job_id, cached_catalog_status) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (hash) DO NOTHING RETURNING id`
	detailsStatement = `INSERT INTO run_report_details (at, report, logs, metrics) VALUES (?, ?, ?, ?)`
)

// Dictionaries of texts, by the statement that finds or adds one.
const (
	environments = `INSERT INTO run_environments (name) VALUES (?) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id`
	producers    = `INSERT INTO run_producers (name) VALUES (?) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id`
	words        = `INSERT INTO run_words (name) VALUES (?) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id`
)

// word is a text in one of the dictionaries.
type word struct{ dictionary, text string }

// caches are what the writer of a service remembers between its transactions.
type caches struct {
	words     cache[word]
	resources cache[digest]
	changes   cache[digest]
}

// batch writes reports in one transaction.
type batch struct {
	store.Conn
	words     overlay[word]
	resources overlay[digest]
	changes   overlay[digest]

	reports, events int // that were stored
}

// store writes the reports that are not there yet, all or none, and tells how
// many those are.
//
// The level read committed is enough, and keeps the writers of two processes
// from losing races: each row that the batch relies on is locked by the statement
// that finds it. The upserts of nodes, words, resources and changes lock theirs
// and read the newest version; the latest report of a node and its return to the
// active ones are decided under the lock of the node; the unique hash has the
// second of two equal reports wait for the first; environments, which are shared
// by all, are locked against deletion. Reports, words, resources and changes come
// in one order, so that two batches seldom wait for each other in a circle. Those
// who delete are serializable: a row that a batch has locked or changed meanwhile
// makes them start over.
func (known *caches) store(ctx context.Context, db *store.DB, reports []*report, tell func(reports, events int)) error {
	reports = slices.Clone(reports)
	slices.SortStableFunc(reports, func(a, b *report) int { return strings.Compare(a.certname, b.certname) })
	var b *batch
	err := db.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		b = &batch{Conn: c, words: over(&known.words), resources: over(&known.resources), changes: over(&known.changes)}
		return b.store(reports)
	})
	if err == nil {
		b.words.keep()
		b.resources.keep()
		b.changes.keep()
		tell(b.reports, b.events)
	}
	return err
}

// stored is a report with its numbers.
type stored struct {
	*report
	id, node int64
}

func (b *batch) store(reports []*report) error {
	if err := b.internWords(reports); err != nil {
		return fmt.Errorf("storing words: %w", err)
	}
	fresh := make([]stored, 0, len(reports))
	for _, r := range reports {
		s, err := b.insert(r)
		switch {
		case errors.Is(err, sql.ErrNoRows): // it was sent before
		case err != nil:
			return fmt.Errorf("storing a report: %w", err)
		default:
			fresh = append(fresh, s)
			b.reports++
			b.events += len(r.events)
		}
	}
	if err := b.internResources(fresh); err != nil {
		return fmt.Errorf("storing resources: %w", err)
	}
	if err := b.internChanges(fresh); err != nil {
		return fmt.Errorf("storing changes: %w", err)
	}
	if err := b.insertEvents(fresh); err != nil {
		return fmt.Errorf("storing events: %w", err)
	}
	return nil
}

// insert writes the row of a report; sql.ErrNoRows: it is there.
func (b *batch) insert(r *report) (s stored, err error) {
	s.report = r
	at := r.producerTimestamp
	if err := b.Row(nodeStatement, r.certname, at, at).Scan(&s.node); err != nil {
		return s, fmt.Errorf("node: %w", err)
	}
	// Of a text that may be missing.
	id := func(dictionary string, text sql.NullString) any {
		if !text.Valid {
			return nil
		}
		row, _ := b.words.get(word{dictionary, text.String})
		return row.id
	}
	args := []any{
		r.hash[:], s.node, id(environments, present(r.environment)), id(words, r.status), id(words, present(r.kind)),
		bit(r.noop), bit(r.noopPending), bit(r.correctiveChange), id(words, present(r.puppetVersion)), r.format, r.configurationVersion,
		r.start, r.end, at, r.receiveTime, id(producers, r.producer), text(r.transactionUUID), text(r.catalogUUID), id(words, r.codeID),
		text(r.jobID), id(words, r.cachedCatalogStatus),
	}
	if err := b.Row(reportStatement, args...).Scan(&s.id); err != nil {
		return s, err
	}
	if err := b.Later(detailsStatement, at, s.id, r.logs, r.metrics); err != nil {
		return s, fmt.Errorf("details: %w", err)
	}
	if r.kind == "plan" {
		return s, nil
	}
	if err := b.Later(latestStatement, s.id, at, s.node, at); err != nil {
		return s, fmt.Errorf("latest report: %w", err)
	}
	return s, nil
}

func present(text string) sql.NullString { return sql.NullString{String: text, Valid: true} }

// internWords finds or adds what reports and events name by a word.
func (b *batch) internWords(reports []*report) error {
	named := make(map[word]struct{})
	for _, r := range reports {
		for _, w := range []struct {
			dictionary string
			text       sql.NullString
		}{
			{environments, present(r.environment)},
			{words, r.status},
			{words, present(r.kind)},
			{words, present(r.puppetVersion)},
			{producers, r.producer},
			{words, r.codeID},
			{words, r.cachedCatalogStatus},
		} {
			if w.text.Valid {
				named[word{w.dictionary, w.text.String}] = struct{}{}
			}
		}
		for i := range r.events {
			if i == 0 || r.events[i].status != r.events[i-1].status {
				named[word{words, r.events[i].status}] = struct{}{}
			}
		}
	}
	for _, w := range slices.SortedFunc(maps.Keys(named), func(a, b word) int {
		return cmp.Or(strings.Compare(a.dictionary, b.dictionary), strings.Compare(a.text, b.text))
	}) {
		if err := b.intern(w); err != nil {
			return err
		}
	}
	return nil
}

// intern finds or adds a word. Environments are swept, so that what is remembered
// of them may be gone: they are looked up, and held until the commit.
func (b *batch) intern(w word) error {
	var row interned
	if w.dictionary == environments {
		err := b.Row(`SELECT id FROM run_environments WHERE name = ?`+b.Keep(), w.text).Scan(&row.id)
		if err == nil {
			b.words.known[w] = row
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	} else if _, ok := b.words.get(w); ok {
		return nil
	}
	if err := b.Row(w.dictionary, w.text).Scan(&row.id); err != nil {
		return err
	}
	b.words.known[w] = row
	return nil
}

// bit and text are what a driver takes.
func bit(b sql.NullBool) any {
	switch {
	case !b.Valid:
		return nil
	case b.Bool:
		return int64(1)
	}
	return int64(0)
}

func text(s sql.NullString) any {
	if !s.Valid {
		return nil
	}
	return s.String
}
