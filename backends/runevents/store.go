package runevents

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// SchemaName is the name of the service among those that have a database.
const SchemaName = "events"

// Schema is the tables of the service.
func Schema() store.Schema {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return store.Schema{Name: SchemaName, Migrations: files}
}

// Statements of the writer. Those of one row are prepared once a transaction.
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
	db        *store.DB
	tx        *sql.Tx
	words     overlay[word]
	resources overlay[digest]
	changes   overlay[digest]

	node, report, details, latest *sql.Stmt

	reports, events int // that were stored
}

// store writes the reports that are not there yet, all or none, and tells how
// many those are.
func (c *caches) store(ctx context.Context, db *store.DB, reports []*report, tell func(reports, events int)) error {
	var b *batch
	err := db.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		b = &batch{db: db, tx: tx, words: over(&c.words), resources: over(&c.resources), changes: over(&c.changes)}
		return b.store(ctx, reports)
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

func (b *batch) store(ctx context.Context, reports []*report) error {
	for _, p := range []struct {
		to   **sql.Stmt
		text string
	}{{&b.node, nodeStatement}, {&b.report, reportStatement}, {&b.details, detailsStatement}, {&b.latest, latestStatement}} {
		statement, err := b.tx.PrepareContext(ctx, b.db.Rebind(p.text))
		if err != nil {
			return fmt.Errorf("preparing to store reports: %w", err)
		}
		defer statement.Close()
		*p.to = statement
	}
	fresh := make([]stored, 0, len(reports))
	for _, r := range reports {
		s, err := b.insert(ctx, r)
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
	if err := b.internResources(ctx, fresh); err != nil {
		return fmt.Errorf("storing resources: %w", err)
	}
	if err := b.internChanges(ctx, fresh); err != nil {
		return fmt.Errorf("storing changes: %w", err)
	}
	if err := b.insertEvents(ctx, fresh); err != nil {
		return fmt.Errorf("storing events: %w", err)
	}
	return nil
}

// insert writes the row of a report; sql.ErrNoRows: it is there.
func (b *batch) insert(ctx context.Context, r *report) (s stored, err error) {
	s.report = r
	at := r.producerTimestamp
	if err := b.node.QueryRowContext(ctx, r.certname, at, at).Scan(&s.node); err != nil {
		return s, fmt.Errorf("node: %w", err)
	}
	// Of a text that may be missing.
	id := func(dictionary string, text sql.NullString) (id any) {
		if err != nil || !text.Valid {
			return nil
		}
		var n int64
		n, err = b.word(ctx, dictionary, text.String)
		return n
	}
	present := func(text string) sql.NullString { return sql.NullString{String: text, Valid: true} }
	args := []any{
		r.hash[:], s.node, id(environments, present(r.environment)), id(words, r.status), id(words, present(r.kind)),
		bit(r.noop), bit(r.noopPending), bit(r.correctiveChange), id(words, present(r.puppetVersion)), r.format, r.configurationVersion,
		r.start, r.end, at, r.receiveTime, id(producers, r.producer), text(r.transactionUUID), text(r.catalogUUID), id(words, r.codeID),
		text(r.jobID), id(words, r.cachedCatalogStatus),
	}
	if err != nil {
		return s, err
	}
	if err := b.report.QueryRowContext(ctx, args...).Scan(&s.id); err != nil {
		return s, err
	}
	if _, err := b.details.ExecContext(ctx, at, s.id, r.logs, r.metrics); err != nil {
		return s, fmt.Errorf("details: %w", err)
	}
	if r.kind == "plan" {
		return s, nil
	}
	if _, err := b.latest.ExecContext(ctx, s.id, at, s.node, at); err != nil {
		return s, fmt.Errorf("latest report: %w", err)
	}
	return s, nil
}

// word is the number of a text in a dictionary.
func (b *batch) word(ctx context.Context, dictionary, text string) (int64, error) {
	key := word{dictionary, text}
	if row, ok := b.words.get(key); ok {
		return row.id, nil
	}
	var row interned
	if err := b.tx.QueryRowContext(ctx, b.db.Rebind(dictionary), text).Scan(&row.id); err != nil {
		return 0, fmt.Errorf("word: %w", err)
	}
	b.words.known[key] = row
	return row.id, nil
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
