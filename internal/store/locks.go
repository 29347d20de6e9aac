package store

// The methods below return the locking clause for the end of a SELECT. The locks last until the end of the transaction.
// On SQLite, which has one writer, the clause is empty.

// Lock returns the clause that locks rows which are about to change. Others who change or lock these rows wait; rows
// that refer to them may still be added.
func (c Conn) Lock() string { return c.onPostgres(" FOR NO KEY UPDATE") }

// LockKeys returns the clause that locks rows which are about to be deleted. Others who change or lock these rows, or
// add rows that refer to them, wait.
func (c Conn) LockKeys() string { return c.onPostgres(" FOR UPDATE") }

// Keep returns the clause that keeps rows from being deleted, while others may still change them.
func (c Conn) Keep() string { return c.onPostgres(" FOR KEY SHARE") }

// LockFree returns the clause that locks the selected rows and leaves out rows that another transaction has locked.
func (c Conn) LockFree() string { return c.onPostgres(" FOR UPDATE SKIP LOCKED") }

// onPostgres returns words on PostgreSQL, and "" on SQLite.
func (c Conn) onPostgres(words string) string {
	if c.db.dialect == Postgres {
		return words
	}
	return ""
}

// Enter takes the PostgreSQL advisory lock whose number is gate, and keeps it until the end of the transaction. It
// waits while another transaction holds that lock. It does nothing on SQLite.
func (c Conn) Enter(gate int64) error {
	if c.db.dialect == SQLite {
		return nil
	}
	_, err := c.Exec("SELECT pg_advisory_xact_lock($1)", gate)
	return err
}
