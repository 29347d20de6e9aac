package stored

import (
	"context"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Times of the leases. A process holds a lease on each answer that it generates in the background.
const (
	beatEvery = 5 * time.Second  // how often a process renews its leases
	lostEvery = 10 * time.Second // how often a process looks for expired leases
	leaseTime = 30 * time.Second
	lostRows  = 100 // answers marked as failed per transaction
)

// leasedUntil returns the end of a lease that is taken now, as a column value.
func (s *Service) leasedUntil() int64 { return schema.Micros(s.now().Add(leaseTime)) }

// begin marks the response as in progress. It returns errGone if the response was cancelled or deleted.
func (r *run) begin() error {
	s, t := r.turn.service, r.turn
	ctx, cancel := context.WithTimeout(r.ctx, storeTime)
	defer cancel()
	var n int64
	err := s.db.Write(ctx, func(c store.Conn) (err error) {
		n, err = c.Exec(
			`UPDATE gateway_responses SET status = 'in_progress', leased_until = ? WHERE id = ? AND runner = ? AND status = 'queued'`,
			s.leasedUntil(), t.ID, s.node,
		)
		return err
	})
	if err == nil && n == 0 {
		err = errGone
	}
	return err
}

// renewLeases renews the leases of this process. It stops the runs that have no lease any more, because their responses
// were cancelled or deleted, or because another process has marked them as failed.
func (s *Service) renewLeases(ctx context.Context) (done int, err error) {
	s.mu.Lock()
	ids := make([]string, 0, len(s.runs))
	for id, r := range s.runs {
		if r.inserted.Load() {
			ids = append(ids, id)
		}
	}
	s.mu.Unlock()
	if len(ids) == 0 {
		return 0, nil
	}
	var leased []string
	err = s.db.Write(ctx, func(c store.Conn) error {
		n, err := c.Exec(`UPDATE gateway_responses SET leased_until = ? WHERE runner = ?`, s.leasedUntil(), s.node)
		if err != nil {
			return err
		}
		done = int(n)
		leased, err = store.List(c, schema.Text, `SELECT id FROM gateway_responses WHERE runner = ?`, s.node)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if !slices.Contains(leased, id) {
			s.cancelRun(id)
		}
	}
	return done, nil
}

// failLost marks answers as failed if their leases have expired because their processes are gone.
func (s *Service) failLost(ctx context.Context) (done int, err error) {
	for {
		var n int64
		err := s.db.Write(ctx, func(c store.Conn) (err error) {
			n, err = c.Exec(`UPDATE gateway_responses SET status = 'failed', runner = '', leased_until = 0 WHERE id IN (
				SELECT id FROM gateway_responses WHERE runner <> '' AND leased_until < ? ORDER BY leased_until, id LIMIT ?)`,
				schema.Micros(s.now()), lostRows)
			return err
		})
		done += int(n)
		if err != nil || n < lostRows {
			return done, err
		}
	}
}
