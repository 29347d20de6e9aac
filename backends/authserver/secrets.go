package authserver

import (
	"context"
	"errors"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/backends/authserver/connections"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/internal/transit"
)

// forever is longer than a server runs. The keys of a key management server are retained that long, since it decides
// when they end.
const forever = 100 * 365 * 24 * time.Hour

// sealing is a set of columns with the encryptor that seals them.
type sealing struct {
	by      encryption.Encryptor
	columns []encryption.Column
}

// sealedColumns are the columns that data_encryption seals, beside the signing keys. A package that stores secrets adds
// its columns here.
var sealedColumns = []encryption.Column{brokers.Sealed, connections.Sealed, factors.Sealed}

// kmsOperation is the metric of the requests to key management servers.
const kmsOperation = "kms_operation_duration_seconds"

// kms returns a client of a key management server whose requests are traced and measured.
func (s *Server) kms(o transit.Options) (*transit.Client, error) {
	o.Wrap = s.kernel.Follow
	o.Observe = func(op string, took time.Duration) {
		if m := s.kernel.Meter; m != nil {
			m.Observe(kmsOperation, op, took)
		}
	}
	return transit.New(o)
}

// encryptor returns the encryptor of data_encryption, or nil if none is configured. The driver seals; the other
// encryptor, if configured too, still opens, so that an operator can change from one driver to the other.
func (s *Server) encryptor() (encryption.Encryptor, error) {
	c := &s.config.DataEncryption
	if c.Driver == "" {
		return nil, nil //nolint:nilnil // see above
	}
	master, err := masterOf(c.AESMaster.KeyEnv.Secret, c.AESMaster.OldKeyEnv.Secret)
	if err != nil {
		return nil, err
	}
	remote, err := s.farEncryptor()
	if err != nil {
		return nil, err
	}
	if c.Driver == config.KMSTransitEncrypt {
		return encryption.Chain(remote, master), nil
	}
	return encryption.Chain(master, remote), nil
}

// masterOf returns an encryptor of master keys, or nil if current is empty.
func masterOf(current, old string) (encryption.Encryptor, error) {
	if current == "" {
		return nil, nil //nolint:nilnil // see above
	}
	return encryption.NewMaster(current, old)
}

// farEncryptor returns the encryptor of a key management server, or nil if none is configured.
func (s *Server) farEncryptor() (encryption.Encryptor, error) {
	c := &s.config.DataEncryption.KMSTransitEncrypt
	if c.Address == "" {
		return nil, nil //nolint:nilnil // see above
	}
	o := transit.Options{Address: c.Address, Token: c.TokenEnv.Secret}
	if c.AuthMethod == "approle" {
		o.Token, o.AppRole = "", transit.AppRole{RoleID: c.AppRole.RoleIDEnv.Secret, SecretID: c.AppRole.SecretIDEnv.Secret}
	}
	client, err := s.kms(o)
	if err != nil {
		return nil, err
	}
	return encryption.NewTransit(client.Key(c.MountPath, c.KeyName)), nil
}

// keyStore returns the store of the signing keys, and sets which columns are sealed by what.
func (s *Server) keyStore() (keys.Store, error) {
	c, r := &s.config.Signing, &s.rooms
	r.sealed = []sealing{{r.encryptor, sealedColumns}}
	switch c.KeyStore {
	case config.KMSTransit:
		k := &c.KMSTransit
		client, err := s.kms(transit.Options{
			Address: k.Address, Token: k.Token, Timeout: k.Timeout,
			AppRole: transit.AppRole{Mount: k.AppRole.Mount, RoleID: k.AppRole.RoleID, SecretID: k.AppRole.SecretID},
		})
		if err != nil {
			return nil, err
		}
		return &keys.Transit{Server: s.kernel, Key: client.Key(k.Mount, k.KeyName), Name: k.Address + " " + k.Mount + "/" +
			k.KeyName, Algorithm: c.Algorithm}, nil
	case config.PostgresKey:
		own, err := masterOf(c.PostgresKey.EncryptionKeyEnv.Secret, "")
		if err != nil {
			return nil, err
		}
		by := r.encryptor
		if own != nil && s.config.DataEncryption.Driver == config.AESMaster {
			by = encryption.Chain(own, r.encryptor)
		}
		r.sealed = append(r.sealed, sealing{by, []encryption.Column{keys.Sealed}})
		return keys.Table{Server: s.kernel, Encryptor: by}, nil
	}
	return keys.Files{Folder: c.KeyPath}, nil
}

// operator is the actor in the audit feed of what the administration API and the commands do.
const operator = "admin"

// Reseal seals again everything that is not sealed with the newest key of the driver, while the server keeps serving.
// If it ends early, another call continues where it stopped. It calls progress from time to time, unless that is nil.
// It returns encryption.ErrNone if no encryption is configured.
func (s *Server) Reseal(ctx context.Context, progress func(encryption.Resealed)) (all encryption.Resealed, err error) {
	if s.rooms.encryptor == nil {
		return all, encryption.ErrNone
	}
	defer s.survey.forget()
	defer func() {
		detail := []string{
			"scanned", strconv.Itoa(all.Scanned), "rewritten", strconv.Itoa(all.Rewritten), "failed",
			strconv.Itoa(all.Failed),
		}
		if err != nil {
			detail = append(detail, "ended", "early")
		}
		s.kernel.Audit(ctx, kernel.Event{Action: "encryption.reencrypted", Actor: operator, Detail: detail})
	}()
	for _, one := range s.rooms.sealed {
		previous := all
		add := func(done encryption.Resealed) {
			all = encryption.Resealed{
				Scanned: previous.Scanned + done.Scanned, Rewritten: previous.Rewritten + done.Rewritten,
				Failed: previous.Failed + done.Failed,
			}
		}
		done, err := encryption.Reseal(ctx, s.kernel, one.by, one.columns, func(done encryption.Resealed) {
			if add(done); progress != nil {
				progress(all)
			}
		})
		if add(done); err != nil {
			return all, err
		}
	}
	return all, nil
}

// checkKeys asks the key management server for the signing key, which is made if there is none. It returns an error
// only if waiting would not help; a server that does not answer is logged.
func (s *Server) checkKeys() error {
	if s.config.Signing.KeyStore != config.KMSTransit {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.config.Signing.KMSTransit.Timeout)
	defer cancel()
	err := s.rooms.keys.Reload(ctx)
	if errors.Is(err, transit.ErrUnavailable) {
		s.kernel.Logger().Error("the key management server does not answer: no tokens are issued until it does",
			zap.Error(err))
		return nil
	}
	return err
}
