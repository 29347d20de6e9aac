package runevents

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/runevents/packed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Limits of the list of rejected commands.
const (
	maxRejected        = 1000
	maxRejectedPayload = 4 << 20 // compressed; a larger payload is not stored
)

// Rejected is a command that was acknowledged but could not be stored.
type Rejected struct {
	ID       int64     `json:"id"`
	At       time.Time `json:"at"` // of the last attempt
	Command  string    `json:"command"`
	Version  int       `json:"version"`
	Certname string    `json:"certname"`
	Reason   string    `json:"reason"`
	Attempts int       `json:"attempts"`
}

// ErrNotFound is the error for an ID that is not in the list of rejected commands.
var ErrNotFound = errors.New("there is no such command")

// reject adds a command to the list of rejected commands with the reason, and returns its ID in the list. It deletes
// the oldest entries if the list has more than maxRejected. The payload is left out if it is too large.
func (s *Service) reject(ctx context.Context, command Command, reason error) (id int64, err error) {
	payload := command.packed()
	if len(payload) > maxRejectedPayload {
		payload = []byte{}
	}
	var length int64
	// With a stricter isolation level, concurrent calls that delete old entries would fail.
	err = s.db.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		err := c.Row(`INSERT INTO run_rejected (at, command, version, certname, reason, attempts, payload)
			VALUES (?, ?, ?, ?, ?, 1, ?) RETURNING id`, s.o.Now().UnixMilli(), command.Name, command.Version, command.Certname, reason.Error(), payload).Scan(&id)
		if err != nil {
			return err
		}
		// The IDs have gaps, so the oldest entry to keep cannot be computed by subtraction.
		_, err = c.Exec(`DELETE FROM run_rejected WHERE id <= (SELECT id FROM run_rejected ORDER BY id DESC LIMIT 1 OFFSET ?)`, maxRejected)
		if err != nil {
			return err
		}
		return c.Row(`SELECT count(*) FROM run_rejected`).Scan(&length)
	})
	if err == nil {
		s.rejected.Store(length)
	}
	return id, err
}

// RejectedCount returns the number of rejected commands. If Work has been called, the number is at most a minute old.
func (s *Service) RejectedCount() int64 { return s.rejected.Load() }

// countRejected counts the rejected commands, because other processes change the list, too. It is a background job that
// never deletes rows, so done is 0.
func (s *Service) countRejected(ctx context.Context) (done int, err error) {
	var n int64
	err = s.db.Read(ctx, func(c store.Conn) error {
		return c.Row(`SELECT count(*) FROM run_rejected`).Scan(&n)
	})
	if err == nil {
		s.rejected.Store(n)
	}
	return 0, err
}

// Rejected returns the rejected commands, newest first.
func (s *Service) Rejected(ctx context.Context) (list []Rejected, err error) {
	err = s.db.Read(ctx, func(c store.Conn) error {
		list = nil
		rows, err := c.Rows(`SELECT id, at, command, version, certname, reason, attempts FROM run_rejected ORDER BY id DESC`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var row Rejected
			var millis int64
			if err := rows.Scan(&row.ID, &millis, &row.Command, &row.Version, &row.Certname, &row.Reason,
				&row.Attempts); err != nil {
				return err
			}
			row.At = time.UnixMilli(millis).UTC()
			list = append(list, row)
		}
		return rows.Err()
	})
	return list, err
}

// RejectedCommand returns the rejected command with the given ID and its payload. It returns ErrNotFound if there is no
// such command, and another error if the payload was too large to be stored.
func (s *Service) RejectedCommand(ctx context.Context, id int64) (row Rejected, c Command, err error) {
	var millis int64
	var payload []byte
	err = s.db.Read(ctx, func(c store.Conn) error {
		return c.Row(`SELECT id, at, command, version, certname, reason, attempts, payload FROM run_rejected WHERE id = ?`,
			id).
			Scan(&row.ID, &millis, &row.Command, &row.Version, &row.Certname, &row.Reason, &row.Attempts, &payload)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return row, c, ErrNotFound
	}
	if err != nil {
		return row, c, err
	}
	row.At = time.UnixMilli(millis).UTC()
	c = Command{Name: row.Command, Version: row.Version, Certname: row.Certname}
	if len(payload) == 0 {
		return row, c, errors.New("the payload was too large to be stored")
	}
	c.Payload, err = packed.Append(nil, payload, maxUnpacked)
	return row, c, err
}

// Retry executes the rejected command with the given ID again. If it succeeds, the command is removed from the list. If
// the payload is refused again, the list gets the new time and reason, and Retry returns the reason.
func (s *Service) Retry(ctx context.Context, id int64) error {
	_, c, err := s.RejectedCommand(ctx, id)
	if err != nil {
		return err
	}
	storeErr := s.Store(ctx, c)
	if storeErr != nil && !IsPayload(storeErr) {
		return storeErr
	}
	err = s.db.Write(ctx, func(c store.Conn) error {
		if storeErr == nil {
			_, err := c.Exec(`DELETE FROM run_rejected WHERE id = ?`, id)
			return err
		}
		_, err := c.Exec(`UPDATE run_rejected SET at = ?, reason = ?, attempts = attempts + 1 WHERE id = ?`,
			s.o.Now().UnixMilli(), storeErr.Error(), id)
		return err
	})
	return errors.Join(storeErr, err)
}

// maxUnpacked limits a decompressed payload. It is larger than any body that the options can allow.
const maxUnpacked = 1 << 30
