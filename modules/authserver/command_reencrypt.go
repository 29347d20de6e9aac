package authserver

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// reencryptCommand returns the command that encrypts all secrets again.
func reencryptCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "re-encrypt", Args: cobra.NoArgs,
		Short: "Encrypts all secrets in the database again with the newest key of data_encryption",
		Long: `
Encrypts all secrets in the database again with the newest key of the driver in
data_encryption. Use it after a change of the master key, after a new version of a
key of a key management server, or to move from one driver to another while both
are configured. The server may be running. The command can be interrupted and
repeated. When it has finished, the old key can be removed from the configuration.
If the configuration has several servers, the command uses the keys of all.
`,
		RunE: o.run(func(s *session, _ *cobra.Command, _ []string) error {
			done, err := reseal(s)
			if err != nil {
				return err
			}
			err = s.Table(done, func(w io.Writer) {
				cli.Row(w, "Secrets:", done.Scanned)
				cli.Row(w, "Re-encrypted:", done.Rewritten)
				cli.Row(w, "Cannot be decrypted:", done.Failed)
			})
			if err == nil && done.Failed > 0 {
				err = fmt.Errorf("%d secrets cannot be decrypted with any of the configured keys; configure the key that encrypted them",
					done.Failed)
			}
			return err
		}),
	}
}

// reseal encrypts the secrets again with the current keys of all servers of the configuration, which share one
// database.
func reseal(s *session) (total encryption.Resealed, err error) {
	list, err := sealers(s)
	if err != nil {
		return total, err
	}
	rewritten := 0
	// A server may lack a key that another server has. Once the other server has encrypted a text again, the first server
	// can decrypt it. So the loop continues while texts change and some cannot be decrypted.
	for {
		total = encryption.Resealed{Rewritten: rewritten}
		for _, keys := range list {
			done, err := resealBy(s, keys, total.Rewritten)
			if err != nil {
				return total, err
			}
			total.Rewritten += done.Rewritten
			total.Scanned, total.Failed = max(total.Scanned, done.Scanned), max(total.Failed, done.Failed)
		}
		if len(list) == 1 || total.Rewritten == rewritten || total.Failed == 0 {
			return total, nil
		}
		rewritten = total.Rewritten
	}
}

// resealBy encrypts the secrets again with the keys of one server. rewriteCount is the number of texts that were
// encrypted again so far, for the progress.
func resealBy(s *session, keys *config.Config, rewriteCount int) (done encryption.Resealed, err error) {
	server, end, err := newOfflineServer(s, keys)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, end()) }()
	return server.Reseal(s.Ctx, func(done encryption.Resealed) {
		s.Note("%d secrets checked, %d encrypted again", done.Scanned, rewriteCount+done.Rewritten)
	})
}

// serverKeys returns the settings of all servers of the configuration without duplicates. names has the file from which
// each was loaded. serverKeys returns an error if there is no server.
func serverKeys(s *session) (list []*config.Config, names map[*config.Config]string, err error) {
	known := make(map[[32]byte]bool)
	names = make(map[*config.Config]string)
	err = s.App.Handlers(serviceName, func(handler json.RawMessage) error {
		var h Handler
		if err := json.Unmarshal(handler, &h); err != nil {
			return err
		}
		keys, err := loadKeys(h.Config)
		if err != nil || known[keys.Digest()] {
			return err
		}
		known[keys.Digest()], names[keys] = true, cmp.Or(h.Config, "the environment")
		list = append(list, keys)
		return nil
	})
	if err == nil && len(list) == 0 {
		err = errors.New("the configuration has no authorization server")
	}
	return list, names, err
}

// sealers returns the settings of the servers that encrypt secrets or, if no server does, those of the first server. It
// returns an error if two servers encrypt with different keys, because each would undo the other's work.
func sealers(s *session) (list []*config.Config, err error) {
	all, names, err := serverKeys(s)
	if err != nil {
		return nil, err
	}
	for _, keys := range all {
		if keys.DataEncryption.Driver == "" {
			continue
		}
		for _, other := range list {
			if !keys.SealsAs(other) {
				return nil, fmt.Errorf("%s and %s use the same database but encrypt with different keys: configure the same key for both",
					names[other], names[keys])
			}
		}
		list = append(list, keys)
	}
	if len(list) == 0 {
		list = all[:1]
	}
	return list, nil
}

// newOfflineServer returns a server with the given settings on the session's database. It serves no requests. The
// returned function closes it.
func newOfflineServer(s *session, keys *config.Config) (*authserver.Server, func() error, error) {
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
