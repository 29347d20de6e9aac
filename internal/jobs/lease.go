package jobs

import (
	"context"
	"embed"
	"errors"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the schema of the table <prefix>_leases.
func Schema(prefix string) store.Schema { return store.Prefixed(migrations, "jobs", prefix) }

// ErrHeld means that another process has the lease, or that the work is not due.
var ErrHeld = errors.New("another process does this work, or it is not due")

// farOff limits how far in the future the end of a lease can be, in multiples of Every. A later end was written with a
// wrong clock.
const farOff = 24

// Lease is a right to do a piece of work. Of all processes that share a database, one at a time has it.
type Lease struct {
	DB *store.DB
	// Table is a table with the columns of Schema.
	Table string
	// Name identifies the piece of work.
	Name string
	// Holder is a name of this process that no other process has.
	Holder string
	// Every is the time from the end of the work until the work is due again. It applies to all processes.
	Every time.Duration
	// Lasts is how long other processes wait for a process that has the lease and does not extend or end it.
	Lasts time.Duration
	// Now returns the time. Default: time.Now.
	Now func() time.Time
}

// Do calls fn if the work is due. If the work is not due, or if another process has the lease, Do returns ErrHeld. If
// retake is set, Do also calls fn if this process was the last to do the work. If fn returns an error, the work is
// due for other processes when the lease ends, and for this process in a call with retake set.
func (l *Lease) Do(ctx context.Context, retake bool, fn func(ctx context.Context) error) error {
	now := l.now()
	mayReplace := "" // the holder whose lease is taken even if it has not ended
	if retake {
		mayReplace = l.Holder
	}
	err := l.DB.Write(ctx, func(c store.Conn) error {
		n, err := c.Exec("INSERT INTO "+l.Table+" (name, holder, until) VALUES (?, ?, ?)"+
			" ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until"+
			" WHERE "+l.Table+".until <= ? OR "+l.Table+".until > ? OR "+l.Table+".holder = ?",
			l.Name, l.Holder, now.Add(l.Lasts).UnixMicro(), now.UnixMicro(), now.Add(farOff*l.Every).UnixMicro(),
			mayReplace)
		return checkHeld(n, err)
	})
	if err != nil {
		return err
	}
	if err := fn(ctx); err != nil {
		return err
	}
	return l.DB.Write(ctx, func(c store.Conn) error { return l.setEnd(c, l.now().Add(l.Every)) })
}

// Hold extends the lease by Lasts, within a transaction of the work. It returns ErrHeld if another process has taken
// the lease; the caller must then roll the transaction back.
func (l *Lease) Hold(c store.Conn) error { return l.setEnd(c, l.now().Add(l.Lasts)) }

// setEnd sets the time at which the lease ends. It returns ErrHeld if this process does not have the lease.
func (l *Lease) setEnd(c store.Conn, end time.Time) error {
	return checkHeld(c.Exec("UPDATE "+l.Table+" SET until = ? WHERE name = ? AND holder = ?",
		end.UnixMicro(), l.Name, l.Holder))
}

// checkHeld returns ErrHeld if a statement that needs the lease has changed no row, and otherwise err.
func checkHeld(changed int64, err error) error {
	if err == nil && changed == 0 {
		return ErrHeld
	}
	return err
}

// now returns the time.
func (l *Lease) now() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}
