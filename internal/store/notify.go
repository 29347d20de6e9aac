package store

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
)

// channel carries the notices of all topics.
const channel = "tollgate"

// maxNotice bounds the text of a notice in bytes; PostgreSQL takes 8000 with the
// topic.
const maxNotice = 4000

// Notify tells all nodes on the database, this one included, what the transaction
// changes, once it is committed; see [DB.Listen]. A text that is too long becomes
// "", which stands for anything. Whoever may connect to the database can hear it:
// it holds no secret. SQLite has one node, which knows what it does: there
// Notify does nothing.
func (c Conn) Notify(topic, text string) error {
	if c.db.dialect == SQLite {
		return nil
	}
	if len(text) > maxNotice {
		text = ""
	}
	if _, err := c.q.ExecContext(c.ctx, "SELECT pg_notify($1, $2)", channel, topic+" "+text); err != nil {
		return fmt.Errorf("notifying the nodes of %s: %w", topic, err)
	}
	return nil
}

// Listen has heard called with the text of each notice of a topic (a word), in
// order, until stop is called. It is called with "" where notices may have been
// missed: the listener has begun, or has begun again after its connection was lost.
// heard returns soon, as others wait for it.
//
// A notice comes milliseconds after the commit. It is no promise: a connection can
// be dead for half a minute before that shows, and a pooler between may let none
// through. What is kept in memory therefore has an age as well.
func (db *DB) Listen(topic string, heard func(text string)) (stop func()) {
	l := &listener{topic, heard}
	db.listeners.add(l)
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.dialect == Postgres && !db.closed && !db.listening {
		db.listening = true
		db.keeper.Go(db.listen)
	}
	return func() { db.listeners.remove(l) }
}

type listener struct {
	topic string
	heard func(text string)
}

// listeners are who is told. The lock is held while they are, so that none is
// told after it was removed.
type listeners struct {
	mu  sync.Mutex
	all map[*listener]struct{}
}

func (ls *listeners) add(l *listener) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.all == nil {
		ls.all = make(map[*listener]struct{})
	}
	ls.all[l] = struct{}{}
}

func (ls *listeners) remove(l *listener) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.all, l)
}

// tell passes a notice on.
func (ls *listeners) tell(notice string) {
	topic, text, _ := strings.Cut(notice, " ")
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for l := range ls.all {
		if l.topic == topic {
			l.heard(text)
		}
	}
}

// missed tells all that they may not have been told.
func (ls *listeners) missed() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for l := range ls.all {
		l.heard("")
	}
}

// listen keeps a connection for notices until the DB is closed.
func (db *DB) listen() {
	server := db.engine.(*postgres)
	failed := false
	for pause := retryFirst; ; pause = min(2*pause, retryLongest) {
		if db.WaitReady(db.ctx) != nil {
			return
		}
		err := server.listen(db.ctx, func() {
			pause, failed = retryFirst, false
			db.listeners.missed()
		}, db.listeners.tell)
		if db.ctx.Err() != nil {
			return
		}
		db.rouse() // it may be gone as a whole
		if !failed {
			failed = true
			db.logger.Warn("what other nodes change is seen late for now, listening to the database has ended", zap.Error(err))
		}
		select {
		case <-db.ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}
