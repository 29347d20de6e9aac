package runevents

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// payloadError is a payload that can never be stored as it is.
type payloadError struct{ err error }

func (e *payloadError) Error() string { return e.err.Error() }
func (e *payloadError) Unwrap() error { return e.err }

// Process carries a command out and returns when that is durable. A command
// with a bad payload goes to the list of rejected ones; rejected is its number
// there, and the error says why. Other errors mean that nothing was kept and
// the client is to send the command again.
func (s *Service) Process(ctx context.Context, c Command) (rejected int64, err error) {
	err = s.carryOut(ctx, c)
	if _, bad := errors.AsType[*payloadError](err); !bad {
		return 0, err
	}
	s.logger.Warn("command rejected", zap.String("command", c.Name), zap.Int("version", c.Version), zap.String("certname", c.Certname), zap.Error(err))
	number, failed := s.reject(context.WithoutCancel(ctx), c, err)
	if failed != nil {
		return 0, fmt.Errorf("keeping a rejected command: %w", failed)
	}
	return number, err
}

func (s *Service) carryOut(ctx context.Context, c Command) error {
	if err := c.check(false); err != nil {
		return &payloadError{err}
	}
	if c.Name == deactivateNode {
		return s.deactivate(ctx, c.Payload)
	}
	r, done, err := s.take(c)
	if err != nil {
		return err
	}
	// It is stored whether someone waits or not.
	select {
	case err = <-done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err != nil && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
		s.logger.Error("storing a report", zap.String("certname", r.certname), zap.Error(err))
		return &payloadError{errors.New("report: the database refused it")}
	}
	return err
}

// take reads a report and hands it to the writer. The count ends before that,
// so that the writer never waits for what it already has.
func (s *Service) take(c Command) (*report, <-chan error, error) {
	now := s.o.Now()
	s.reading.Add(1)
	r, err := parseReport(c.Version, c.Payload, now.Add(-s.o.EventTTL).UnixMilli())
	s.reading.Add(-1)
	if err != nil {
		return nil, nil, &payloadError{err}
	}
	r.receiveTime = now.UnixMilli()
	done, err := s.enqueue(r)
	return r, done, err
}

// deactivate takes a node out of the active ones, unless it has reported since.
func (s *Service) deactivate(ctx context.Context, payload []byte) error {
	certname, at, err := parseDeactivation(payload)
	if err != nil {
		return &payloadError{err}
	}
	err = s.db.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, s.db.Rebind(`INSERT INTO run_nodes (certname) VALUES (?) ON CONFLICT (certname) DO NOTHING`), certname); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, s.db.Rebind(`UPDATE run_nodes SET deactivated_at = ? WHERE certname = ?
			AND (deactivated_at IS NULL OR deactivated_at < ?)
			AND NOT EXISTS (SELECT 1 FROM run_reports WHERE run_reports.node = run_nodes.id AND run_reports.producer_timestamp > ?)`), at, certname, at, at)
		return err
	})
	if err != nil {
		return fmt.Errorf("deactivating a node: %w", err)
	}
	return nil
}

// parseDeactivation reads the payload of "deactivate node".
func parseDeactivation(payload []byte) (certname string, at int64, err error) {
	if !utf8.Valid(payload) {
		return "", 0, errNotUTF8
	}
	r := &reader{scanner: scanner{data: payload}}
	var timed bool
	for r.open('{'); ; {
		name, ok := r.member()
		if !ok {
			break
		}
		switch string(name) {
		case "certname":
			certname = r.name("certname")
		case "producer_timestamp":
			at, timed = r.instant(), true
		default:
			r.fail("there is no member %q", short(name))
		}
	}
	if err := r.end(); err != nil {
		return "", 0, fmt.Errorf("deactivate node: %w", err)
	}
	if certname == "" || !timed {
		return "", 0, errors.New("deactivate node: certname or producer_timestamp is missing")
	}
	return certname, at, nil
}
