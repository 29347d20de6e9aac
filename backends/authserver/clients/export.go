package clients

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// eachRows is the number of clients that one query reads.
const eachRows = 500

// Each calls fn with every client, ordered by id. If fn returns an error, Each stops and returns it.
func (cs *Clients) Each(ctx context.Context, fn func(c *Client) error) error {
	for lastID := ""; ; {
		list, err := kernel.Read(ctx, cs.Server, func(c store.Conn) ([]*Client, error) {
			return store.List(c, scan, "SELECT "+columns+" FROM authserver_clients WHERE id > ? ORDER BY id LIMIT ?",
				lastID, eachRows)
		})
		if err != nil || len(list) == 0 {
			return err
		}
		for _, c := range list {
			if err := fn(c); err != nil {
				return err
			}
		}
		lastID = list[len(list)-1].ID
	}
}
