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

// Limits of the statements a connection keeps.
const (
	statementsKept = 100
	statementSize  = 8 << 10 // bytes of text; longer statements are not kept
)

// openPool opens a pool on a SQLite file. Its connections cache prepared statements, because parsing and planning a
// statement takes longer than running it in most cases.
func openPool(dsn string) (*sql.DB, error) {
	connector, err := sqlitedriver.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(keepingConnector{connector}), nil
}

type keepingConnector struct{ driver.Connector }

// Connect implements driver.Connector.
func (k keepingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := k.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner, ok := conn.(sqliteConn)
	if !ok {
		_ = conn.Close()
		return nil, errors.New("sqlite: the driver's connections lack a method")
	}
	return &keepingConn{sqliteConn: inner, kept: make(map[string]*list.Element)}, nil
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

// keepingConn is a connection that caches its most recently used statements, by their text. A running statement is not
// in the cache, so that the same text can run again meanwhile.
type keepingConn struct {
	sqliteConn
	kept  map[string]*list.Element
	order list.List   // of *keptStatement, most recently used first
	open  []*keptRows // rows that were not closed yet
}

type keptStatement struct {
	query     string
	statement statement
}

// ExecContext implements driver.ExecerContext.
func (c *keepingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
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
func (c *keepingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := s.statement.QueryContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, c.giveBack(s, false))
	}
	kept := &keptRows{rows, c, s}
	c.open = append(c.open, kept)
	return kept, nil
}

// closeRows closes rows that were left open. Open rows would keep the transaction's snapshot, which prevents a
// checkpoint of the write-ahead log.
func (c *keepingConn) closeRows() {
	for len(c.open) > 0 {
		_ = c.open[0].Close() // removes it from the list
	}
}

// take takes a statement out of the cache, or prepares it.
func (c *keepingConn) take(ctx context.Context, query string) (*keptStatement, error) {
	if e, ok := c.kept[query]; ok {
		delete(c.kept, query)
		return c.order.Remove(e).(*keptStatement), nil
	}
	prepared, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s, ok := prepared.(statement)
	if !ok {
		return nil, errors.Join(errors.New("sqlite: the driver's statements lack a method"), prepared.Close())
	}
	return &keptStatement{query, s}, nil
}

// giveBack returns a statement to the cache if good is set and the same text is not in the cache, and closes
// it otherwise.
func (c *keepingConn) giveBack(s *keptStatement, good bool) error {
	if _, twice := c.kept[s.query]; twice || !good || len(s.query) > statementSize {
		return s.statement.Close()
	}
	c.kept[s.query] = c.order.PushFront(s)
	if c.order.Len() <= statementsKept {
		return nil
	}
	oldest := c.order.Remove(c.order.Back()).(*keptStatement)
	delete(c.kept, oldest.query)
	return oldest.statement.Close()
}

// Close implements driver.Conn.
func (c *keepingConn) Close() error {
	c.closeRows()
	var failed error
	for e := c.order.Front(); e != nil; e = e.Next() {
		failed = errors.Join(failed, e.Value.(*keptStatement).statement.Close())
	}
	return errors.Join(failed, c.sqliteConn.Close())
}

// keptRows returns its statement to the cache when it is closed.
type keptRows struct {
	driver.Rows
	conn      *keepingConn
	statement *keptStatement
}

// Next implements driver.Rows.
func (r *keptRows) Next(into []driver.Value) error {
	if r.statement == nil {
		return errRowsEnded
	}
	return r.Rows.Next(into)
}

var errRowsEnded = errors.New("sqlite: the transaction of these rows has ended")

// Close implements driver.Rows.
func (r *keptRows) Close() error {
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
