package store

// Locks that last until the end of the transaction. SQLite has one writer, and
// needs none of them. The words are for the end of a SELECT.

// Lock has it hold rows that are about to change: others who change or lock them
// wait. Rows that refer to them may still be added.
func (c Conn) Lock() string { return c.onPostgres(" FOR NO KEY UPDATE") }

// LockKeys has it hold rows that are about to go: also others who add rows that
// refer to them wait.
func (c Conn) LockKeys() string { return c.onPostgres(" FOR UPDATE") }

// Keep has it keep rows, which others may change, from being deleted.
func (c Conn) Keep() string { return c.onPostgres(" FOR KEY SHARE") }

// LockFree has it take the rows that nobody holds, and hold them; it leaves out the
// others.
func (c Conn) LockFree() string { return c.onPostgres(" FOR UPDATE SKIP LOCKED") }

func (c Conn) onPostgres(words string) string {
	if c.db.dialect == Postgres {
		return words
	}
	return ""
}

// Enter waits until no other transaction is behind the gate, and holds it: an
// advisory lock, whose number is the same for all who mean the same thing.
func (c Conn) Enter(gate int64) error {
	if c.db.dialect == SQLite {
		return nil
	}
	_, err := c.Exec("SELECT pg_advisory_xact_lock($1)", gate)
	return err
}
