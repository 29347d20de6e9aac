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

// forever is longer than any process runs. The public keys of a key management server are retained for that long, since
// the server decides when a key ends.
const forever = 100 * 365 * 24 * time.Hour

// sealing is a set of columns and the encryptor of their values.
type sealing struct {
	encryptor encryption.Encryptor
	columns   []encryption.Column
}

// sealedColumns are the columns, besides the signing keys, that data_encryption encrypts. A package that stores secrets
// must add its columns here.
var sealedColumns = []encryption.Column{brokers.Sealed, connections.Sealed, factors.Sealed}

// kmsOperation is the name of the metric for requests to key management servers.
const kmsOperation = "kms_operation_duration_seconds"

// kms returns a client of a key management server. The client's requests are traced and measured.
func (s *Server) kms(o transit.Options) (*transit.Client, error) {
	o.Wrap = s.kernel.Follow
	o.Observe = func(op string, took time.Duration) {
		if m := s.kernel.Meter; m != nil {
			m.Observe(kmsOperation, op, took)
		}
	}
	return transit.New(o)
}

// encryptor returns the encryptor of data_encryption, or nil if no driver is set. The driver encrypts. If the other
// driver is configured too, it still decrypts, so that an operator can change from one driver to the other.
func (s *Server) encryptor() (encryption.Encryptor, error) {
	c := &s.config.DataEncryption
	if c.Driver == "" {
		return nil, nil
	}
	master, err := masterOf(c.AESMaster.KeyEnv.Secret, c.AESMaster.OldKeyEnv.Secret)
	if err != nil {
		return nil, err
	}
	remote, err := s.kmsEncryptor()
	if err != nil {
		return nil, err
	}
	if c.Driver == config.KMSTransitEncrypt {
		return encryption.Chain(remote, master), nil
	}
	return encryption.Chain(master, remote), nil
}

// masterOf returns an encryptor with the master key currentKey and, unless formerKey is empty, also that former
// master key. Both are in hex. It returns nil if currentKey is empty.
func masterOf(currentKey, formerKey string) (encryption.Encryptor, error) {
	if currentKey == "" {
		return nil, nil
	}
	return encryption.NewMaster(currentKey, formerKey)
}

// kmsEncryptor returns the encryptor that uses a key management server, or nil if none is configured.
func (s *Server) kmsEncryptor() (encryption.Encryptor, error) {
	c := &s.config.DataEncryption.KMSTransitEncrypt
	if c.Address == "" {
		return nil, nil
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

// keyStore returns the store of the signing keys. It also sets the list of encrypted columns and their encryptors.
func (s *Server) keyStore() (keys.Store, error) {
	c, parts := &s.config.Signing, &s.components
	parts.sealed = []sealing{{parts.encryptor, sealedColumns}}
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
		master, err := masterOf(c.PostgresKey.EncryptionKeyEnv.Secret, "")
		if err != nil {
			return nil, err
		}
		encryptor := parts.encryptor
		if master != nil && s.config.DataEncryption.Driver == config.AESMaster { // the keys may have another master key
			encryptor = encryption.Chain(master, parts.encryptor)
		}
		parts.sealed = append(parts.sealed, sealing{encryptor, []encryption.Column{keys.Sealed}})
		return keys.Table{Server: s.kernel, Encryptor: encryptor}, nil
	}
	return keys.Files{Folder: c.KeyPath}, nil
}

// operator is the actor in the audit feed for changes by the administration API and by commands.
const operator = "admin"

// Reseal encrypts with the driver's current key all secrets that are not encrypted with that key yet, while the server
// keeps serving. If it ends early, another call continues where it stopped. It calls progress from time to time, unless
// progress is nil. It returns encryption.ErrNone if no encryption is configured.
func (s *Server) Reseal(
	ctx context.Context, progress func(encryption.Resealed),
) (total encryption.Resealed, err error) {
	if s.components.encryptor == nil {
		return total, encryption.ErrNone
	}
	defer s.survey.forget()
	defer func() {
		detail := []string{
			"scanned", strconv.Itoa(total.Scanned), "rewritten", strconv.Itoa(total.Rewritten), "failed",
			strconv.Itoa(total.Failed),
		}
		if err != nil {
			detail = append(detail, "ended", "early")
		}
		s.kernel.Audit(ctx, kernel.Event{Action: "encryption.reencrypted", Actor: operator, Detail: detail})
	}()
	for _, sealing := range s.components.sealed {
		former := total // the result for the columns before these
		done, err := encryption.Reseal(ctx, s.kernel, sealing.encryptor, sealing.columns, func(done encryption.Resealed) {
			if progress != nil {
				progress(former.Plus(done))
			}
		})
		total = former.Plus(done)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// checkKeys reads the signing key from the key management server, which creates the key if necessary. It returns an
// error only if retrying would not help. If the server does not answer, checkKeys logs the error.
func (s *Server) checkKeys() error {
	if s.config.Signing.KeyStore != config.KMSTransit {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.config.Signing.KMSTransit.Timeout)
	defer cancel()
	err := s.components.keys.Reload(ctx)
	if errors.Is(err, transit.ErrUnavailable) {
		s.kernel.Logger().Error("the key management server does not answer: no tokens can be issued until it answers",
			zap.Error(err))
		return nil
	}
	return err
}
