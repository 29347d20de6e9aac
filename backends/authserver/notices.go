package authserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/admin"
	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
)

// pepperGone is a message for the log and for the notices of the administration API.
const pepperGone = "client_secret_pepper is not set, but the secrets of some clients are hashed with a pepper: these clients cannot authenticate until the pepper is set again or they get new secrets"

// warn logs the rows of the database that cannot be used with this configuration. It is a background job, which handles
// no items.
func (s *Server) warn(ctx context.Context) (int, error) {
	missing, clients, err := s.surveyed(ctx)
	if err != nil {
		return 0, err
	}
	if clients > 0 {
		s.kernel.Logger().Warn(pepperGone, zap.Int("clients", clients))
	}
	for _, m := range missing {
		s.kernel.Logger().Warn("sealed rows need a key that is not configured", zap.String("table", m.Table), zap.Int("rows",
			m.Rows), zap.String("key", m.Key), zap.String("remedy", remedy(m)))
	}
	return 0, nil
}

// surveyAge is how long the result of a scan of all rows is reused. Overview pages need it often, and it rarely
// changes.
const surveyAge = time.Minute

// survey caches the result of a scan for secrets that cannot be used.
type survey struct {
	mu      sync.Mutex // protects the following fields; not held during a scan
	scanned time.Time  // zero until there has been a scan
	round   int        // incremented by forget, so that a scan that began before it is not cached
	missing []encryption.Missing
	clients int // the number of clients whose secrets cannot be used
}

// forget drops the cached result, so that the next call of surveyed scans all rows.
func (v *survey) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.scanned = time.Time{}
	v.round++
}

// surveyed returns the rows that cannot be decrypted and the number of clients whose secrets cannot be verified, from a
// scan that is at most surveyAge old.
func (s *Server) surveyed(ctx context.Context) (missing []encryption.Missing, clients int, err error) {
	v, now := &s.survey, s.kernel.Now()
	v.mu.Lock()
	missing, clients = v.missing, v.clients
	isFresh := !v.scanned.IsZero() && now.Sub(v.scanned) < surveyAge
	round := v.round
	v.mu.Unlock()
	if isFresh {
		return missing, clients, nil
	}
	if clients, err = s.components.clients.Unusable(ctx); err == nil {
		missing, err = s.missing(ctx)
	}
	if err != nil {
		return nil, 0, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.round == round {
		v.scanned, v.missing, v.clients = now, missing, clients
	}
	return missing, clients, nil
}

// missing returns, for each table and key, the number of encrypted values whose key is not configured.
func (s *Server) missing(ctx context.Context) (counts []encryption.Missing, err error) {
	for _, sealing := range s.components.sealed {
		found, err := encryption.FindMissing(ctx, s.kernel, sealing.encryptor, sealing.columns)
		if err != nil {
			return nil, err
		}
		counts = append(counts, found...)
	}
	return counts, nil
}

// remedy returns advice for an operator whose database has encrypted rows that cannot be decrypted.
func remedy(m encryption.Missing) string {
	switch m.Key {
	case encryption.KeyManagement:
		return "configure data_encryption.kms_transit_encrypt; before you remove it again, run re-encrypt"
	case "":
		return "restore the rows from a backup, or store the secrets again: the rows are damaged or were written by another program"
	}
	return "set data_encryption.aes_master.key_env to the name of the variable that contains this key, or old_key_env if there is a newer key; before you remove it again, run re-encrypt"
}

// maxNotices is the maximum number of faulty providers that are listed by name.
const maxNotices = 10

// notices returns the problems that an operator should currently know about.
func (s *Server) notices(ctx context.Context) (notices []admin.Notice, err error) {
	add := func(subject, format string, args ...any) {
		notices = append(notices, admin.Notice{Message: fmt.Sprintf(format, args...), About: subject})
	}
	missing, unusableClients, err := s.surveyed(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range missing {
		key := "the key " + m.Key + ", which is not configured"
		switch m.Key {
		case encryption.KeyManagement:
			key = "a key management server, which is not configured"
		case "":
			key = "an unknown key"
		}
		add("", "Rows of %s that cannot be decrypted: %d. They are encrypted with %s. What to do: %s.",
			m.Table, m.Rows, key, remedy(m))
	}
	if unusableClients > 0 {
		add("clients", "%s", pepperGone)
	}
	all, err := s.components.brokers.All(ctx)
	if err != nil {
		return nil, err
	}
	faulty := 0
	for _, p := range all {
		if wrong, ok := errors.AsType[*brokers.ConfigError](s.components.brokers.Usable(p)); ok {
			if faulty++; faulty <= maxNotices {
				add("broker-providers/"+p.ID, "The provider %s cannot be used: %s.", p.Slug, wrong.Fault)
			}
		}
	}
	if more := faulty - maxNotices; more > 0 {
		add("broker-providers", "%d more providers cannot be used.", more)
	}
	for _, text := range s.config.Warnings() {
		add("", "%s", text)
	}
	return notices, nil
}
