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

// Schema is the table <prefix>_leases.
func Schema(prefix string) store.Schema { return store.Prefixed(migrations, "jobs", prefix) }

// ErrHeld tells that another process has the lease, or that the work is not due.
var ErrHeld = errors.New("another process does this work, or it is not due")

// farOff is how far ahead an end of a lease can be: beyond it is of a clock that was
// wrong.
const farOff = 24

// Lease is the right of one process to do a piece of work, of those that share a
// database.
type Lease struct {
	DB *store.DB
	// Table has the columns of Schema.
	Table string
	// Name is of the piece of work.
	Name string
	// Holder is a name of this process that no other one has.
	Holder string
	// Every is from the end of the work, by whichever process, to when it is due
	// again.
	Every time.Duration
	// Lasts is how long others wait for a process that says nothing.
	Lasts time.Duration
	// Now is the time. Default: time.Now.
	Now func() time.Time
}

// Do runs the work if it is due, or if this process was the last one to do so and
// again is set, and no other process is at it. The error is otherwise ErrHeld. A run
// that fails is due for others when the lease ends, and for this process when it asks again.
func (l *Lease) Do(ctx context.Context, again bool, run func(ctx context.Context) error) error {
	now, holder := l.now(), ""
	if again {
		holder = l.Holder
	}
	err := l.DB.Write(ctx, func(c store.Conn) error {
		n, err := c.Exec("INSERT INTO "+l.Table+" (name, holder, until) VALUES (?, ?, ?)"+
			" ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until"+
			" WHERE "+l.Table+".until <= ? OR "+l.Table+".until > ? OR "+l.Table+".holder = ?",
			l.Name, l.Holder, now.Add(l.Lasts).UnixMicro(), now.UnixMicro(), now.Add(farOff*l.Every).UnixMicro(), holder)
		return held(n, err)
	})
	if err != nil {
		return err
	}
	if err := run(ctx); err != nil {
		return err
	}
	return l.DB.Write(ctx, func(c store.Conn) error { return l.until(c, l.now().Add(l.Every)) })
}

// Hold keeps other processes away for as long as the lease lasts, in a transaction of
// the work; ErrHeld: there is one already, and the transaction is to be given up.
func (l *Lease) Hold(c store.Conn) error { return l.until(c, l.now().Add(l.Lasts)) }

func (l *Lease) until(c store.Conn, at time.Time) error {
	return held(c.Exec("UPDATE "+l.Table+" SET until = ? WHERE name = ? AND holder = ?", at.UnixMicro(), l.Name, l.Holder))
}

func held(changed int64, err error) error {
	if err == nil && changed == 0 {
		return ErrHeld
	}
	return err
}

func (l *Lease) now() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}
