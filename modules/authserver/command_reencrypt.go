package authserver

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

func reencryptCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "re-encrypt", Args: cobra.NoArgs,
		Short: "Seals what is not under the newest key of data_encryption with that key",
		Long: `
Seals all that is encrypted in the database with the newest key of the driver
that data_encryption names: after a new master key, after a new version of a key
of a key management server, and from one driver to another, for as long as both
are configured. The server may run meanwhile. It can be interrupted and run
again; when it has nothing left to do, what sealed before can be taken out of
the configuration.
`,
		RunE: o.run(func(s *session, _ *cobra.Command, _ []string) (err error) {
			server, end, err := offline(s)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, end()) }()
			done, err := server.Reseal(s.Ctx, func(done encryption.Resealed) { s.Note("%d looked at, %d sealed anew", done.Scanned, done.Rewritten) })
			if err != nil {
				return err
			}
			err = s.Table(done, func(w io.Writer) {
				cli.Row(w, "Sealed texts:", done.Scanned)
				cli.Row(w, "Sealed anew:", done.Rewritten)
				cli.Row(w, "Cannot be opened:", done.Failed)
			})
			if err == nil && done.Failed > 0 {
				err = fmt.Errorf("%d sealed texts open with none of the configured keys; add what they were sealed with", done.Failed)
			}
			return err
		}),
	}
}

// offline is a server on the database of a session that serves nobody.
func offline(s *session) (*authserver.Server, func() error, error) {
	var h Handler
	found := false
	err := s.App.Handlers(serviceName, func(handler json.RawMessage) error {
		if found {
			return nil
		}
		found = true
		return json.Unmarshal(handler, &h)
	})
	if err == nil && !found {
		err = errors.New("the configuration has no authorization server")
	}
	if err != nil {
		return nil, nil, err
	}
	keys, err := loadKeys(h.Config)
	if err != nil {
		return nil, nil, err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	shared := counters.NewMemory(time.Now)
	server, err := authserver.New(authserver.Options{Config: keys, DB: s.DB, Counters: shared, Key: key})
	if err != nil {
		return nil, nil, errors.Join(err, shared.Close())
	}
	return server, func() error {
		server.Close()
		return shared.Close()
	}, nil
}
