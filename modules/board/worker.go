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
	mu     sync.Mutex
	claims []*participant // in the order of joining, so those of the newest configuration are last
	end    func()         // ends the work; nil before it has begun
}

// participant is a handler that takes part in the work, with its settings.
type participant struct {
	app         any // identifies the configuration
	started     func() bool
	mail        mail.SMTPOptions // if it has no URL, mails are only logged
	baseURL     string
	attachments string
	work        *jobs.Work
}

// join adds a handler, and starts the work if the handler is the first. It returns an error if handlers of one
// configuration differ in their mail settings or in the folder of attachments. A handler without mail settings does not
// count as different.
func (w *worker) join(c *participant) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, other := range w.claims {
		switch {
		case other.app != c.app:
		case other.attachments != c.attachments:
			return errors.New(
				"attachments: another board on the same database has another place for them; give both the same")
		case other.mail.URL != "" && c.mail.URL != "" && (other.mail != c.mail || other.baseURL != c.baseURL):
			return errors.New(
				"mail: another board on the same database has another mail or base_url; leave mail to one of them")
		}
	}
	w.claims = append(w.claims, c)
	if w.end == nil {
		w.end = background.New(background.Options{
			Jobs: jobs.List(w.current), Observe: jobMetrics.Observe,
			Logger: w.logger,
		}).Start()
	}
	return nil
}

// leave removes a handler. The work continues with the settings of the other handlers.
func (w *worker) leave(c *participant) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.claims = slices.DeleteFunc(w.claims, func(other *participant) bool { return other == c })
}

// current returns the work with the current settings, or nil if no configuration has started yet.
func (w *worker) current() *jobs.Work {
	if c := w.newestParticipant(); c != nil {
		return c.work
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

// mails reports whether any handler of the current configuration sends mail.
func (w *worker) mails() bool {
	c := w.newestParticipant()
	return c != nil && c.mail.URL != ""
}

// newestParticipant returns a handler of the newest configuration that has started, or nil. If the configuration has
// several handlers, it prefers a handler that can send mail. All handlers of a configuration have joined before it
// starts.
func (w *worker) newestParticipant() *participant {
	w.mu.Lock()
	defer w.mu.Unlock()
	var newest *participant
	for _, c := range slices.Backward(w.claims) {
		switch {
		case newest == nil && c.started():
			newest = c
		case newest != nil && newest.mail.URL == "" && c.app == newest.app && c.mail.URL != "":
			newest = c
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
		end()
	}
}
