package runevents

import (
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // the wire format names reports by SHA-1
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

// SchemaName is the name of this service in the list of services with a database.
const SchemaName = "events"

// Schema returns the database schema of the service.
func Schema() store.Schema {
	s := store.Embedded(SchemaName, migrations)
	s.Partition, s.Settle = movedTo, fileInbox
	return s
}

// The statements of the writer, which connections keep prepared.
var (
	// The statement locks the rows of the nodes until the transaction ends.
	insertNodes = manyRows("INSERT INTO run_nodes (certname) VALUES ", 1,
		" ON CONFLICT (certname) DO UPDATE SET latest_timestamp = run_nodes.latest_timestamp"+
			" RETURNING certname, id, deactivated_at IS NOT NULL OR expired_at IS NOT NULL")
	insertReports = manyRows(`INSERT INTO run_reports (hash, node, environment, status, type, noop, noop_pending, corrective_change, puppet_version,
		report_format, configuration_version, start_time, end_time, producer_timestamp, receive_time, producer, transaction_uuid, catalog_uuid,
		code_id, job_id, cached_catalog_status) VALUES `, 21, " ON CONFLICT (hash) DO NOTHING RETURNING hash, id")
	insertDetails = manyRows("INSERT INTO run_report_details (at, report, logs, metrics) VALUES ", 4, "")
)

// The statements that update a node.
const (
	// A report that is newer than the deactivation or expiry of its node makes the node active again.
	reactivateStatement = `UPDATE run_nodes SET deactivated_at = CASE WHEN deactivated_at < ? THEN NULL ELSE deactivated_at END,
		expired_at = CASE WHEN expired_at < ? THEN NULL ELSE expired_at END WHERE id = ?`
	latestStatement = `UPDATE run_nodes SET latest_report = ?, latest_timestamp = ? WHERE id = ? AND (latest_timestamp IS NULL OR latest_timestamp < ?)`
)

// The dictionaries: tables that contain each text once, for the many rows that refer to it. Each dictionary is
// represented by the statement that finds or adds a text and returns its ID.
const (
	environments = `INSERT INTO run_environments (name) VALUES (?) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id`
	producers    = `INSERT INTO run_producers (name) VALUES (?) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id`
	words        = `INSERT INTO run_words (name) VALUES (?) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id`
)

// word is a text in a dictionary, which is one of the constants above.
type word struct{ dictionary, text string }

// caches contain the IDs of rows that a writer has found or written, for the next transactions. Only one goroutine uses
// them at a time.
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

	reports, events int // numbers of stored reports and events
}

// store writes those reports that do not exist yet, in one transaction. After the commit, it adds the IDs of the rows
// that the transaction has used to the caches, and calls stored with the numbers of written reports and events. After
// an error, nothing is written, and the caches are unchanged.
//
// The isolation level read committed is sufficient, and keeps the writers of two processes from failing because of each
// other. Each row that the batch relies on is locked by the statement that finds the row. The upserts of nodes, words,
// resources and changes lock their rows and read the latest version. The latest report of a node, and the node's
// reactivation, are decided while the node is locked. Of two equal reports, the unique hash makes the second wait for
// the first. Environments, which all reports share, are locked against deletion. Reports, words, resources and changes
// are written in a fixed order, so deadlocks between two batches are rare. Transactions that delete rows are
// serializable: they start over if a batch has locked or changed one of their rows in the meantime.
func (c *caches) store(ctx context.Context, db *store.DB, reports []*report, stored func(reports, events int)) error {
	byNode := slices.Clone(reports)
	slices.SortStableFunc(byNode, func(a, b *report) int { return strings.Compare(a.certname, b.certname) })
	var b *batch
	err := db.Write(store.ReadCommitted(ctx), func(conn store.Conn) error {
		b = &batch{
			Conn: conn, words: newOverlay(&c.words), resources: newOverlay(&c.resources),
			changes: newOverlay(&c.changes),
		}
		return b.store(byNode)
	})
	if err == nil {
		b.words.saveToCache()
		b.resources.saveToCache()
		b.changes.saveToCache()
		stored(b.reports, b.events)
	}
	return err
}

// storedReport is a report with the IDs of its row and of its node.
type storedReport struct {
	*report
	id, node int64
}

// store stores reports, which are sorted by certname, with their events and details. It skips reports that are already
// stored, and those that another process has taken out of the inbox.
func (b *batch) store(reports []*report) error {
	reports, err := b.claim(reports)
	if err != nil {
		return fmt.Errorf("taking reports out of the inbox: %w", err)
	}
	if len(reports) == 0 {
		return nil
	}
	if err := b.internWords(reports); err != nil {
		return fmt.Errorf("storing words: %w", err)
	}
	nodes, err := b.internNodes(reports)
	if err != nil {
		return fmt.Errorf("storing nodes: %w", err)
	}
	newReports, err := b.insertReports(reports, nodes)
	if err != nil {
		return fmt.Errorf("storing reports: %w", err)
	}
	if err := b.internResources(newReports); err != nil {
		return fmt.Errorf("storing resources: %w", err)
	}
	if err := b.internChanges(newReports); err != nil {
		return fmt.Errorf("storing changes: %w", err)
	}
	if err := b.insertEvents(newReports); err != nil {
		return fmt.Errorf("storing events: %w", err)
	}
	return nil
}

// internNodes finds or adds the nodes of the reports, which are sorted by certname, and returns their IDs by certname.
// It reactivates nodes that were deactivated or expired before their latest report.
func (b *batch) internNodes(reports []*report) (map[string]int64, error) {
	nodes := make(map[string]int64, len(reports))
	latest := make(map[string]int64, len(reports)) // times of the latest reports; later only those of inactive nodes
	var args []any
	for _, r := range reports {
		previous, repeated := latest[r.certname]
		if !repeated {
			args = append(args, r.certname)
		}
		if !repeated || previous < r.producerTimestamp {
			latest[r.certname] = r.producerTimestamp
		}
	}
	err := b.returning(insertNodes, 1, args, func(r store.Row) error {
		var certname string
		var id int64
		var inactive bool
		if err := r.Scan(&certname, &id, &inactive); err != nil {
			return err
		}
		nodes[certname] = id
		if !inactive {
			delete(latest, certname)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, certname := range slices.Sorted(maps.Keys(latest)) {
		reported := latest[certname]
		if err := b.Later(reactivateStatement, reported, reported, nodes[certname]); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// insertReports writes those reports that do not exist yet, with their details, and returns them. nodes contains the
// IDs of the nodes by certname.
func (b *batch) insertReports(reports []*report, nodes map[string]int64) ([]storedReport, error) {
	ids := make(map[[sha1.Size]byte]int64, len(reports))
	args := make([]any, 0, 21*len(reports))
	for _, r := range reports {
		args = b.reportRow(args, r, nodes[r.certname])
	}
	err := b.returning(insertReports, 21, args, func(r store.Row) error {
		var hash []byte
		var id int64
		if err := r.Scan(&hash, &id); err != nil {
			return err
		}
		ids[[sha1.Size]byte(hash)] = id
		return nil
	})
	if err != nil {
		return nil, err
	}
	newReports := make([]storedReport, 0, len(ids))
	for _, r := range reports {
		if id, ok := ids[r.hash]; ok {
			delete(ids, r.hash) // skip the same report later in the batch
			newReports = append(newReports, storedReport{r, id, nodes[r.certname]})
			b.reports++
			b.events += len(r.events)
		}
	}
	return newReports, b.insertDetailsAndLatest(newReports)
}

// reportRow appends the columns of a report's row to args. node is the ID of the node.
func (b *batch) reportRow(args []any, r *report, node int64) []any {
	// id returns the ID of a text in a dictionary, or nil for a missing text.
	id := func(dictionary string, text sql.NullString) any {
		if !text.Valid {
			return nil
		}
		row, _ := b.words.get(word{dictionary, text.String})
		return row.id
	}
	return append(args,
		r.hash[:], node, id(environments, validText(r.environment)), id(words, r.status), id(words, validText(r.kind)),
		nullableBool(r.noop), nullableBool(r.noopPending), nullableBool(r.correctiveChange),
		id(words, validText(r.puppetVersion)), r.format,
		r.configurationVersion, r.start, r.end, r.producerTimestamp, r.receiveTime, id(producers, r.producer),
		nullableText(r.transactionUUID), nullableText(r.catalogUUID), id(words, r.codeID),
		nullableText(r.jobID), id(words, r.cachedCatalogStatus))
}

// insertDetailsAndLatest writes the details of new reports, and updates the latest report of each node. A report of a
// plan is not the latest report of a node.
func (b *batch) insertDetailsAndLatest(newReports []storedReport) error {
	details := make([]any, 0, 4*len(newReports))
	latest := make(map[int64]storedReport, len(newReports))
	for _, r := range newReports {
		details = append(details, r.producerTimestamp, r.id, r.logs, r.metrics)
		if previous, ok := latest[r.node]; r.kind != "plan" && (!ok || previous.producerTimestamp < r.producerTimestamp) {
			latest[r.node] = r
		}
	}
	if err := b.laterRows(insertDetails, 4, details); err != nil {
		return fmt.Errorf("details: %w", err)
	}
	for _, r := range newReports { // sorted by certname, so that two processes lock nodes in the same order
		if latest[r.node].id != r.id { // not the latest report, or a plan
			continue
		}
		if err := b.Later(latestStatement, r.id, r.producerTimestamp, r.node, r.producerTimestamp); err != nil {
			return fmt.Errorf("latest report: %w", err)
		}
	}
	return nil
}

// validText returns the text as a value that is not NULL.
func validText(text string) sql.NullString { return sql.NullString{String: text, Valid: true} }

// internWords finds or adds the texts of reports and events that are in dictionaries.
func (b *batch) internWords(reports []*report) error {
	texts := make(map[word]struct{})
	for _, r := range reports {
		for _, w := range []struct {
			dictionary string
			text       sql.NullString
		}{
			{environments, validText(r.environment)},
			{words, r.status},
			{words, validText(r.kind)},
			{words, validText(r.puppetVersion)},
			{producers, r.producer},
			{words, r.codeID},
			{words, r.cachedCatalogStatus},
		} {
			if w.text.Valid {
				texts[word{w.dictionary, w.text.String}] = struct{}{}
			}
		}
		for i := range r.events {
			if i == 0 || r.events[i].status != r.events[i-1].status { // often it is the same
				texts[word{words, r.events[i].status}] = struct{}{}
			}
		}
	}
	// The texts are interned in a fixed order, so that two processes lock the rows in the same order.
	for _, w := range slices.SortedFunc(maps.Keys(texts), func(a, b word) int {
		return cmp.Or(strings.Compare(a.dictionary, b.dictionary), strings.Compare(a.text, b.text))
	}) {
		if err := b.intern(w); err != nil {
			return err
		}
	}
	return nil
}

// intern finds or adds a text in a dictionary. Since environments may be deleted at any time, they are always looked up
// in the database, and locked until the transaction ends.
func (b *batch) intern(w word) error {
	var row sharedRow
	if w.dictionary == environments {
		err := b.Row(`SELECT id FROM run_environments WHERE name = ?`+b.Keep(), w.text).Scan(&row.id)
		if err == nil {
			b.words.rows[w] = row
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
	b.words.rows[w] = row
	return nil
}

// nullableBool returns a boolean as a parameter of a statement: 0, 1 or nil for NULL.
func nullableBool(b sql.NullBool) any {
	switch {
	case !b.Valid:
		return nil
	case b.Bool:
		return int64(1)
	}
	return int64(0)
}

// nullableText returns a text as a parameter of a statement: a string, or nil for NULL.
func nullableText(s sql.NullString) any {
	if !s.Valid {
		return nil
	}
	return s.String
}
