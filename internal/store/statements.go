package store

import (
	"container/list"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"

	sqlitedriver "modernc.org/sqlite"
)

// Limits of the statements that a connection caches.
const (
	cacheSize     = 100
	statementSize = 8 << 10 // bytes of text; longer statements are not cached
)

// openPool opens a pool on a SQLite file. Its connections cache prepared statements, because parsing and planning a
// statement takes longer than running it in most cases.
func openPool(dsn string) (*sql.DB, error) {
	connector, err := sqlitedriver.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(cachingConnector{connector}), nil
}

type cachingConnector struct{ driver.Connector }

// Connect implements driver.Connector.
func (c cachingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner, ok := conn.(sqliteConn)
	if !ok {
		_ = conn.Close()
		return nil, errors.New("sqlite: the driver's connections lack a method")
	}
	return &cachingConn{sqliteConn: inner, cache: make(map[string]*list.Element)}, nil
}

// sqliteConn has the methods of a driver connection that database/sql uses.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// statement is a prepared statement of the driver.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// cachingConn is a connection that caches its most recently used statements, by their text. A running statement is not
// in the cache, so that the same text can run again meanwhile.
type cachingConn struct {
	sqliteConn
	cache map[string]*list.Element
	order list.List     // of *cachedStatement, most recently used first
	open  []*cachedRows // rows that were not closed yet
}

type cachedStatement struct {
	query     string
	statement statement
}

// ExecContext implements driver.ExecerContext.
func (c *cachingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if query == commit || query == rollback {
		c.closeRows()
	}
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	result, err := s.statement.ExecContext(ctx, args)
	return result, errors.Join(err, c.giveBack(s, err == nil))
}

// QueryContext implements driver.QueryerContext.
func (c *cachingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := s.statement.QueryContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, c.giveBack(s, false))
	}
	result := &cachedRows{rows, c, s}
	c.open = append(c.open, result)
	return result, nil
}

// closeRows closes rows that were left open. Open rows would keep the transaction's snapshot, which prevents a
// checkpoint of the write-ahead log.
func (c *cachingConn) closeRows() {
	for len(c.open) > 0 {
		_ = c.open[0].Close() // removes it from the list
	}
}

// take takes a statement out of the cache, or prepares it.
func (c *cachingConn) take(ctx context.Context, query string) (*cachedStatement, error) {
	if e, ok := c.cache[query]; ok {
		delete(c.cache, query)
		return c.order.Remove(e).(*cachedStatement), nil
	}
	prepared, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s, ok := prepared.(statement)
	if !ok {
		return nil, errors.Join(errors.New("sqlite: the driver's statements lack a method"), prepared.Close())
	}
	return &cachedStatement{query, s}, nil
}

// giveBack returns a statement to the cache if reusable is set and the same text is not in the cache, and closes
// it otherwise.
func (c *cachingConn) giveBack(s *cachedStatement, reusable bool) error {
	if _, twice := c.cache[s.query]; twice || !reusable || len(s.query) > statementSize {
		return s.statement.Close()
	}
	c.cache[s.query] = c.order.PushFront(s)
	if c.order.Len() <= cacheSize {
		return nil
	}
	oldest := c.order.Remove(c.order.Back()).(*cachedStatement)
	delete(c.cache, oldest.query)
	return oldest.statement.Close()
}

// Close implements driver.Conn.
func (c *cachingConn) Close() error {
	c.closeRows()
	var failed error
	for e := c.order.Front(); e != nil; e = e.Next() {
		failed = errors.Join(failed, e.Value.(*cachedStatement).statement.Close())
	}
	return errors.Join(failed, c.sqliteConn.Close())
}

// cachedRows returns its statement to the cache when it is closed.
type cachedRows struct {
	driver.Rows
	conn      *cachingConn
	statement *cachedStatement // nil when closed
}

// Next implements driver.Rows.
func (r *cachedRows) Next(dest []driver.Value) error {
	if r.statement == nil {
		return errRowsEnded
	}
	return r.Rows.Next(dest)
}

var errRowsEnded = errors.New("sqlite: the transaction of these rows has ended")

// Close implements driver.Rows.
func (r *cachedRows) Close() error {
	if r.statement == nil {
		return nil
	}
	i := slices.Index(r.conn.open, r)
	r.conn.open = slices.Delete(r.conn.open, i, i+1)
	err := r.Rows.Close()
	err = errors.Join(err, r.conn.giveBack(r.statement, err == nil))
	r.statement = nil
	return err
}
