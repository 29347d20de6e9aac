package store

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
)

// channel is the PostgreSQL notification channel that carries the notices of all topics.
const channel = "tollgate"

// maxNotice limits the text of a notice, in bytes. PostgreSQL limits topic and text together to 8000.
const maxNotice = 4000

// Notify sends a notice to all nodes on the database, including this node, when the transaction is committed; see
// [DB.Listen]. A text longer than maxNotice is replaced by "", which stands for any change. Everybody who may connect
// to the database can read a notice, so the text must not contain a secret. Notify does nothing on SQLite, where there
// is only one node.
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

// Listen calls handle with the text of each notice of a topic, in order, until the caller calls stop. A topic is one
// word. Listen calls handle with "" when notices may have been missed: when listening begins, and when it resumes after
// a lost connection. handle must return soon, because all listeners are called from one goroutine.
//
// A notice arrives milliseconds after the commit, but delivery is not guaranteed: a connection can be dead for half a
// minute before that is noticed, and a pooler in between may drop all notices. Caches that rely on notices must
// therefore expire as well.
func (db *DB) Listen(topic string, handle func(text string)) (stop func()) {
	l := &listener{topic, handle}
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
	topic  string
	handle func(text string)
}

// listeners is the set of registered listeners. Its lock is held while listeners are called, so that a removed listener
// is not called any more.
type listeners struct {
	mu  sync.Mutex
	all map[*listener]struct{}
}

// add registers a listener.
func (ls *listeners) add(l *listener) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.all == nil {
		ls.all = make(map[*listener]struct{})
	}
	ls.all[l] = struct{}{}
}

// remove ends the registration of a listener. It waits while listeners are being called.
func (ls *listeners) remove(l *listener) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.all, l)
}

// dispatch calls the listeners of a notice's topic. A notice is the topic, a space and the text.
func (ls *listeners) dispatch(notice string) {
	topic, text, _ := strings.Cut(notice, " ")
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for l := range ls.all {
		if l.topic == topic {
			l.handle(text)
		}
	}
}

// dispatchMissed calls all listeners with "", because they may have missed notices.
func (ls *listeners) dispatchMissed() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for l := range ls.all {
		l.handle("")
	}
}

// listen keeps a connection for notices until the DB is closed. It runs on a separate goroutine.
func (db *DB) listen() {
	server := db.engine.(*postgres)
	warned := false // since listening last worked
	for pause := retryFirst; ; pause = min(2*pause, retryLongest) {
		if db.WaitReady(db.ctx) != nil {
			return
		}
		err := server.listen(db.ctx, func() {
			pause, warned = retryFirst, false
			db.listeners.dispatchMissed()
		}, db.listeners.dispatch)
		if db.ctx.Err() != nil {
			return
		}
		db.rouse() // the whole server may be gone
		if !warned {
			warned = true
			db.logger.Warn("cannot listen for notices from the database; changes by other nodes take effect late",
				zap.Error(err))
		}
		select {
		case <-db.ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}
