package runevents

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/runevents/packed"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// payloadError is the error for a payload that cannot be stored, however often it is sent.
type payloadError struct{ err error }

// Error and Unwrap return the reason.
func (e *payloadError) Error() string { return e.err.Error() }
func (e *payloadError) Unwrap() error { return e.err }

// IsPayload reports whether the payload is the cause of an error of Store or Process, so that sending the command again
// would fail, too.
func IsPayload(err error) bool {
	_, ok := errors.AsType[*payloadError](err)
	return ok
}

// Process executes a command and returns when the result is durable. A command with a bad payload is added to the list
// of rejected commands; rejected is then its ID in the list, and the error is the reason. After any other error nothing
// is stored, and the client should send the command again.
func (s *Service) Process(ctx context.Context, c Command) (rejected int64, err error) {
	err = s.Store(ctx, c)
	if !IsPayload(err) {
		return 0, err
	}
	s.logger.Warn("command rejected", zap.String("command", c.Name), zap.Int("version", c.Version),
		zap.String("certname", c.Certname), zap.Error(err))
	id, rejectErr := s.reject(context.WithoutCancel(ctx), c, err)
	if rejectErr != nil {
		s.failedAt.Store(s.o.Now().UnixNano()) // Ready reports it
		return 0, fmt.Errorf("adding a command to the list of rejected commands: %w", rejectErr)
	}
	s.failedAt.Store(0)
	return id, err
}

// Store is like Process, but does not add a command with a bad payload to the list of rejected commands; it only
// returns the error. For a report, ctx is only checked at the beginning: a write that has begun is completed.
func (s *Service) Store(ctx context.Context, c Command) error {
	if err := c.check(false); err != nil {
		return &payloadError{err}
	}
	if c.Name == deactivateNode {
		return s.recordResult(s.deactivate(ctx, c.Payload))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	j, err := s.enqueueReport(c)
	if err != nil {
		return err
	}
	return s.recordResult(s.await(j))
}

// recordResult records whether the last command could be stored, for Ready. It returns err, converted by
// asPayloadError.
func (s *Service) recordResult(err error) error {
	switch err = s.asPayloadError(err); {
	case err == nil:
		s.failedAt.Store(0)
	case !IsPayload(err):
		s.failedAt.Store(s.o.Now().UnixNano())
	}
	return err
}

// asPayloadError converts the error of a database that refuses the data of a command to a payloadError, and logs it. It
// returns other errors unchanged, such as those for a missing privilege or a full disk. err may be nil.
func (s *Service) asPayloadError(err error) error {
	if IsPayload(err) || !store.IsDataFault(err) {
		return err
	}
	s.logger.Error("the database refused the data of a command", zap.Error(err))
	return &payloadError{errors.New("the database refused it")}
}

// failingFor is the time for which Ready reports a failed write, unless another command is stored in the meantime.
const failingFor = 30 * time.Second

// Ready returns an error if commands cannot be stored at the moment.
func (s *Service) Ready() error {
	if err := s.db.Ready(); err != nil {
		return err
	}
	isRecent := func(nanos int64) bool { return nanos != 0 && s.o.Now().Sub(time.Unix(0, nanos)) < failingFor }
	if isRecent(s.failedAt.Load()) || s.inbox != nil && isRecent(s.inbox.failedAt.Load()) {
		return errFailing
	}
	return nil
}

var errFailing = errors.New("the last command could not be stored")

// enqueueReport parses a report and puts it into the queue of the writer. While it parses, s.parsing is incremented, so
// that the writer can wait for the report. See enqueue for the result.
func (s *Service) enqueueReport(c Command) (*job, error) {
	now := s.o.Now()
	s.parsing.Add(1)
	oldest := now.Add(-s.o.EventTTL).UnixMilli()
	r, err := parseReport(c.Version, c.Payload, oldest)
	if err == nil {
		err = r.checkTimes(now)
	}
	s.parsing.Add(-1)
	if err != nil {
		return nil, &payloadError{err}
	}
	r.receiveTime = now.UnixMilli()
	if s.inbox != nil {
		r.version, r.since, r.size, r.payload = c.Version, oldest, len(c.Payload), c.packed()
	}
	return s.enqueue(r)
}

// packed returns the payload in compressed form, for storage; see package packed. A payload that arrived as gzip is
// used unchanged, unless gzip has enlarged it.
func (c *Command) packed() []byte {
	if len(c.Zipped) > 0 && len(c.Zipped) <= len(c.Payload) {
		return c.Zipped
	}
	return packed.Pack(c.Payload)
}

// deactivate marks a node as deactivated, unless the node has sent a later report.
func (s *Service) deactivate(ctx context.Context, payload []byte) error {
	certname, deactivated, err := parseDeactivation(payload)
	if err == nil {
		err = checkAhead("deactivate node: producer_timestamp", deactivated, s.o.Now())
	}
	if err != nil {
		return &payloadError{err}
	}
	err = s.db.Write(ctx, func(c store.Conn) error {
		if _, err := c.Exec(`INSERT INTO run_nodes (certname) VALUES (?) ON CONFLICT (certname) DO NOTHING`,
			certname); err != nil {
			return err
		}
		_, err := c.Exec(`UPDATE run_nodes SET deactivated_at = ? WHERE certname = ?
			AND (deactivated_at IS NULL OR deactivated_at < ?)
			AND NOT EXISTS (SELECT 1 FROM run_reports WHERE run_reports.node = run_nodes.id AND run_reports.producer_timestamp > ?)`, deactivated, certname, deactivated, deactivated)
		return err
	})
	if err != nil {
		return fmt.Errorf("deactivating a node: %w", err)
	}
	return nil
}

// parseDeactivation parses the payload of "deactivate node". deactivated is the time in Unix milliseconds.
func parseDeactivation(payload []byte) (certname string, deactivated int64, err error) {
	if !utf8.Valid(payload) {
		return "", 0, errNotUTF8
	}
	r := &reader{scanner: newScanner(payload)}
	var hasTime bool
	var name []byte
	for r.object(); r.member(&name); {
		switch string(name) {
		case "certname":
			certname = r.name("certname")
		case "producer_timestamp":
			deactivated, hasTime = r.instant(), true
		default:
			r.fail("there is no member %q", rest.Quote(string(name)))
		}
	}
	if err := r.end(); err != nil {
		return "", 0, fmt.Errorf("deactivate node: %w", err)
	}
	if certname == "" || !hasTime {
		return "", 0, errors.New("deactivate node: certname or producer_timestamp is missing")
	}
	return certname, deactivated, nil
}
