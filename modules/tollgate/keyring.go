package tollgate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// keyMaker is a KeyringProvider that makes a key file where there is none.
type keyMaker interface {
	// Missing is the key file that Open would make; empty: it makes none.
	Missing(dir string) string
}

// missingKey is the key file that opening the keyring would make.
func (a *App) missingKey() string {
	if maker, ok := a.ring.(keyMaker); ok {
		return maker.Missing(a.dir)
	}
	return ""
}

// missingKeyWait is how long a database that is being opened is waited for, to see
// whether a missing key has sealed what is in it.
const missingKeyWait = time.Minute

// openKeyring opens the keyring. It makes no key beside secrets that another one
// has sealed: the file of that was lost, or is looked for in another folder. Of
// a database that is down it does not know; see watchKeyring.
func (a *App) openKeyring(ctx context.Context) (keyring.Keyring, error) {
	if file := a.missingKey(); file != "" {
		if err := a.register(); err != nil {
			return nil, err
		}
		a.db.Start(ctx)
		if errors.Is(a.db.Ready(), store.ErrOpening) { // it may be migrating
			patient, cancel := context.WithTimeout(ctx, missingKeyWait)
			defer cancel()
			_ = a.db.WaitReady(patient)
		}
		sealed, err := keychain.HasSealed(ctx, a.db)
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			return nil, err
		}
		if sealed {
			return nil, fmt.Errorf("the database has secrets, but the key file %[1]s that opens them is gone: put it back from its copy; "+
				"if it is lost, make another one (umask 077; openssl rand -base64 32 >%[1]s) and store the provider keys again", file)
		}
	}
	return a.ring.Open(a.dir, a.logger)
}

// keyringRetry is how often a keyring that does not fit is tried again.
const keyringRetry = 15 * time.Second

// watchKeyring finds out whether the keyring opens what is stored, now and not
// when the first request needs it. While it does not, it looks again: the
// secrets may have been stored anew.
func (a *App) watchKeyring(ctx context.Context, g *Gateway) {
	for {
		if a.db.WaitReady(ctx) != nil {
			return // the configuration has ended
		}
		err := g.Keychain.CheckSealed(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			if g.keyringDown.Swap(nil) != nil {
				a.logger.Info("the keyring opens the stored secrets again")
			}
			return
		case !errors.Is(err, store.ErrUnavailable) && g.keyringDown.Swap(&err) == nil:
			a.logger.Error("the keyring does not open the stored secrets: give it the master key that sealed them, or store the provider keys again", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(keyringRetry):
		}
	}
}

// KeyringReady is why stored secrets do not open with the keyring; nil: they do,
// as far as is known.
func (g *Gateway) KeyringReady() error {
	if err := g.keyringDown.Load(); err != nil {
		return *err
	}
	return nil
}
