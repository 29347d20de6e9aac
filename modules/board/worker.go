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

// worker runs the background work of one database once, however many handlers use it. A reload changes its settings,
// not its schedule.
type worker struct {
	mu     sync.Mutex
	claims []*claim // in the order of joining, so those of the newest configuration are last
	end    func()   // ends the work; nil before it has begun
}

// claim holds the settings that a handler contributes to the work.
type claim struct {
	app         any // identifies the configuration
	started     func() bool
	mail        mail.SMTPOptions // if it has no URL, mails are only logged
	baseURL     string
	attachments string
	work        *jobs.Work
}

// join adds a handler and starts the work if it is the first. It returns an error if handlers of one configuration
// differ in the mail settings or the place of attachments; a handler without mail leaves mail to the others.
func (w *worker) join(c *claim) error {
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

// leave removes a handler. The work goes on for the others.
func (w *worker) leave(c *claim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.claims = slices.DeleteFunc(w.claims, func(other *claim) bool { return other == c })
}

// current returns the work in use now, or nil while no configuration has started.
func (w *worker) current() *jobs.Work {
	if c := w.newestClaim(); c != nil {
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

// mails reports whether mails are sent, by whichever handler.
func (w *worker) mails() bool {
	c := w.newestClaim()
	return c != nil && c.mail.URL != ""
}

// newestClaim returns a claim of the newest configuration that has started; all handlers of a configuration have joined
// before it starts. If the configuration has several claims it prefers one that can send mail.
func (w *worker) newestClaim() *claim {
	w.mu.Lock()
	defer w.mu.Unlock()
	var newest *claim
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

// close ends the work. It is called before the database is closed.
func (w *worker) close() {
	w.mu.Lock()
	end := w.end
	w.mu.Unlock()
	if end != nil {
		end()
	}
}
