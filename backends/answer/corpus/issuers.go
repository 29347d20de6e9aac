package corpus

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// putIssuer returns the id of the issuer with the CIK of company, or else with its ticker and exchange, or else with
// its name. If there is no such issuer, putIssuer adds one. It adds new names and missing fields to a stored issuer.
func putIssuer(c kernel.Conn, company fileformat.Company) (id int64, err error) {
	key := metrics.Key(company.Name)
	missing := false // a field that company has is empty in the database
	// find sets the variables id and missing for the first issuer that meets the condition, unless id is set already.
	find := func(condition string, args ...any) error {
		if id != 0 {
			return nil
		}
		err := c.Row("SELECT id, ticker = '' AND ? <> '' OR exchange = '' AND ? <> '' OR cik = '' AND ? <> '' FROM answer_issuers WHERE "+condition+" ORDER BY id LIMIT 1",
			append([]any{company.Ticker, company.Exchange, company.CIK}, args...)...).Scan(&id, &missing)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	}
	if company.CIK != "" {
		err = find("cik = ?", company.CIK)
	}
	if err == nil && company.Ticker != "" {
		err = find("ticker = ? AND exchange = ?", company.Ticker, company.Exchange)
	}
	if err == nil {
		err = find("name_key = ?", key)
	}
	switch {
	case err != nil: // returned below
	case id == 0:
		// The update changes nothing; it makes RETURNING work if another transaction has just added the issuer.
		err = c.Row("INSERT INTO answer_issuers (name, name_key, ticker, exchange, cik) VALUES (?, ?, ?, ?, ?) "+
			"ON CONFLICT (name_key) DO UPDATE SET name = answer_issuers.name RETURNING id",
			company.Name, key, company.Ticker, company.Exchange, company.CIK).Scan(&id)
	case missing: // written now, because later documents may not have the fields
		_, err = c.Exec("UPDATE answer_issuers SET ticker = CASE WHEN ticker = '' THEN ? ELSE ticker END, exchange = CASE WHEN exchange = '' THEN ? ELSE exchange END, "+
			"cik = CASE WHEN cik = '' THEN ? ELSE cik END WHERE id = ?", company.Ticker, company.Exchange, company.CIK, id)
	}
	if err != nil {
		return 0, err
	}
	for _, alias := range append([]string{company.Name}, company.Aliases...) {
		if k := metrics.Key(alias); k != "" && len(alias) <= fileformat.MaxTitle {
			if err := c.Later("INSERT INTO answer_aliases (alias_key, issuer_id, alias) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
				k, id, alias); err != nil {
				return 0, err
			}
		}
	}
	return id, nil
}

// maxIssuers bounds the issuers that Issuers returns.
const maxIssuers = 200_000

// Issuers returns all issuers by id, and the directory that finds their names in a text. Both are cached until the
// corpus changes. Callers must not change them.
func (c *Corpus) Issuers(ctx context.Context) (map[int64]kernel.Issuer, *metrics.Directory, error) {
	version, err := c.Version(ctx)
	if err != nil {
		return nil, nil, err
	}
	// The lock is not held while the database is read, so that a slow read does not stop other questions. Goroutines that
	// find an old version at the same time read the same issuers.
	c.mu.Lock()
	issuers, directory, cachedVersion := c.issuers, c.directory, c.version
	c.mu.Unlock()
	if directory != nil && cachedVersion == version {
		return issuers, directory, nil
	}
	issuers = make(map[int64]kernel.Issuer)
	var names []metrics.Named
	err = c.Read(ctx, func(conn kernel.Conn) error {
		err := conn.All("SELECT id, name, ticker, exchange, cik FROM answer_issuers ORDER BY id LIMIT ?",
			[]any{maxIssuers}, func(r store.Row) error {
				var i kernel.Issuer
				err := r.Scan(&i.ID, &i.Name, &i.Ticker, &i.Exchange, &i.CIK)
				issuers[i.ID] = i
				names = append(names, metrics.Named{Issuer: i.ID, Name: i.Name})
				if i.Ticker != "" {
					names = append(names, metrics.Named{Issuer: i.ID, Name: i.Ticker, Ticker: true})
				}
				return err
			})
		if err != nil {
			return err
		}
		return conn.All("SELECT issuer_id, alias FROM answer_aliases ORDER BY issuer_id, alias_key LIMIT ?",
			[]any{4 * maxIssuers}, func(r store.Row) error {
				var n metrics.Named
				err := r.Scan(&n.Issuer, &n.Name)
				names = append(names, n)
				return err
			})
	})
	if err != nil {
		return nil, nil, err
	}
	directory = metrics.NewDirectory(names)
	c.mu.Lock()
	defer c.mu.Unlock()
	if version >= c.version { // unless another goroutine has read a later version meanwhile
		c.issuers, c.directory, c.version = issuers, directory, version
	}
	return issuers, directory, nil
}
