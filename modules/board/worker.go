package board

import (
	"errors"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/jobs"
	background "github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/mail"
)

// worker runs the background work of one database once, regardless of the number of handlers on it. A reload changes
// the settings of the work, but not its schedule.
type worker struct {
	mu           sync.Mutex     // guards the fields: handlers join and leave while jobs ask for the current settings
	participants []*participant // in the order of joining; handlers of the newest configuration are last
	end          func()         // ends the work; nil before it has begun
}

// participant is a handler that takes part in the work, with its settings.
type participant struct {
	app         any              // identifies the configuration
	started     func() bool      // reports whether the configuration has started
	mail        mail.SMTPOptions // if it has no URL, mails are only logged
	baseURL     string
	attachments string     // the folder; empty for the database
	work        *jobs.Work // what the jobs use while the handler's settings apply
}

// join adds a handler, and starts the work if the handler is the first. It returns an error if handlers of one
// configuration differ in their mail settings or in the folder of attachments. Handlers without mail settings may be
// combined with handlers that have them.
func (w *worker) join(p *participant) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, other := range w.participants {
		switch {
		case other.app != p.app: // the configuration that p replaces may have other settings
		case other.attachments != p.attachments:
			return errors.New(
				"attachments: another board on the same database stores its attachments elsewhere;" +
					" set the same attachments in both")
		case other.mail.URL != "" && p.mail.URL != "" && (other.mail != p.mail || other.baseURL != p.baseURL):
			return errors.New(
				"mail: another board on the same database has other mail settings or another base_url;" +
					" set mail in only one of them")
		}
	}
	w.participants = append(w.participants, p)
	if w.end == nil {
		w.end = background.New(background.Options{
			Jobs: jobs.List(w.current), Observe: jobMetrics.Observe,
			Logger: w.logger,
		}).Start()
	}
	return nil
}

// leave removes a handler. The work continues with the settings of the other handlers.
func (w *worker) leave(p *participant) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.participants = slices.DeleteFunc(w.participants, func(other *participant) bool { return other == p })
}

// current returns the work with the current settings, or nil if no configuration has started yet.
func (w *worker) current() *jobs.Work {
	if p := w.newestParticipant(); p != nil {
		return p.work
	}
	return nil
}

// logger returns the logger of the current work.
func (w *worker) logger() *zap.Logger {
	if work := w.current(); work != nil {
		return work.Logger
	}
	return zap.NewNop()
}

// sendsMail reports whether any handler of the current configuration sends mail.
func (w *worker) sendsMail() bool {
	p := w.newestParticipant()
	return p != nil && p.mail.URL != ""
}

// newestParticipant returns a handler of the newest configuration that has started, or nil. If the configuration has
// several handlers, it prefers a handler that can send mail. All handlers of a configuration have joined before it
// starts.
func (w *worker) newestParticipant() *participant {
	w.mu.Lock()
	defer w.mu.Unlock()
	var newest *participant
	for _, p := range slices.Backward(w.participants) {
		switch {
		case newest == nil && p.started():
			newest = p
		case newest != nil && newest.mail.URL == "" && p.app == newest.app && p.mail.URL != "":
			newest = p
		}
	}
	return newest
}

// close ends the work. It must be called before the database is closed.
func (w *worker) close() {
	w.mu.Lock()
	end := w.end
	w.mu.Unlock()
	if end != nil {
		end() // waits for running jobs, which need the mutex
	}
}
