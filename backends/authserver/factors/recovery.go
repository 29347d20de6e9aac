package factors

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// recoveryCodes is the number of recovery codes of a user, and recoverySize the number of characters of a code. A
	// code has 80 random bits, so that its digest needs no slow hash.
	recoveryCodes = 10
	recoverySize  = 16 // characters
)

func recoveryDigest(code string) string {
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:])
}

// replaceRecoveryCodes replaces the recovery codes of a user in a transaction and returns the new ones.
func replaceRecoveryCodes(c store.Conn, user string) (codes []string, err error) {
	if _, err := c.Exec("DELETE FROM authserver_recovery WHERE user_id = ?", user); err != nil {
		return nil, err
	}
	for range recoveryCodes {
		code := rand.Text()[:recoverySize]
		if _, err := c.Exec("INSERT INTO authserver_recovery (user_id, digest) VALUES (?, ?)",
			user, recoveryDigest(code)); err != nil {
			return nil, err
		}
		codes = append(codes, strings.ToLower(groups(code, "-")))
	}
	return codes, nil
}

// Renew replaces the recovery codes of a user and returns the new codes. Only their digests are stored.
func (f *Factors) Renew(ctx context.Context, user string) (codes []string, err error) {
	err = f.Write(ctx, func(c store.Conn) error {
		list, err := factorsIn(c, user)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return errNone
		}
		codes, err = replaceRecoveryCodes(c, user)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.note(ctx, "user.recovery_codes_made", user, user, "")
	return codes, nil
}

// Left returns the number of a user's unused recovery codes.
func (f *Factors) Left(ctx context.Context, user string) (n int64, err error) {
	err = f.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT COUNT(*) FROM authserver_recovery WHERE user_id = ?", user).Scan(&n)
	})
	return n, err
}

// useRecoveryCode deletes a recovery code, so that it can be used only once. It returns ErrWrong if the user has no
// such code.
func (f *Factors) useRecoveryCode(ctx context.Context, user, code string) error {
	if len(code) != recoverySize {
		return ErrWrong
	}
	used, err := f.useUp(ctx, "DELETE FROM authserver_recovery WHERE user_id = ? AND digest = ?", user, recoveryDigest(code))
	if err != nil {
		return err
	}
	if !used {
		return ErrWrong
	}
	f.note(ctx, "user.recovery_code_used", user, user, "")
	return nil
}
