package store

// The methods below return the locking clause for the end of a SELECT. The locks last until the end of the transaction.
// On SQLite, which has one writer, the clause is empty.

// Lock returns the clause that locks rows which are about to change: others who change or lock them wait. Rows that
// refer to them may still be added.
func (c Conn) Lock() string { return c.onPostgres(" FOR NO KEY UPDATE") }

// LockKeys returns the clause that locks rows which are about to be deleted: others who add rows that refer to them
// wait too.
func (c Conn) LockKeys() string { return c.onPostgres(" FOR UPDATE") }

// Keep returns the clause that keeps rows from being deleted, while others may still change them.
func (c Conn) Keep() string { return c.onPostgres(" FOR KEY SHARE") }

// LockFree returns the clause that locks the rows which nobody else has locked and leaves out the others.
func (c Conn) LockFree() string { return c.onPostgres(" FOR UPDATE SKIP LOCKED") }

func (c Conn) onPostgres(words string) string {
	if c.db.dialect == Postgres {
		return words
	}
	return ""
}

// Enter takes a PostgreSQL advisory lock that it holds until the end of the transaction, and waits while another
// transaction holds it. The number gate identifies the lock. Enter does nothing on SQLite.
func (c Conn) Enter(gate int64) error {
	if c.db.dialect == SQLite {
		return nil
	}
	_, err := c.Exec("SELECT pg_advisory_xact_lock($1)", gate)
	return err
}
