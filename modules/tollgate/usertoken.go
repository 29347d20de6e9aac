package tollgate

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
)

const (
	// UserTokenIssuer is the claim iss of the user tokens that Tollgate signs.
	UserTokenIssuer = "tollgate"
	// MaxUserTokenTTL is how long such a token lives at most.
	MaxUserTokenTTL = 30 * 24 * time.Hour
	// MaxUserID is the length of a user id in characters, at most.
	MaxUserID = 200
)

// userTokenKeys are the keys that sign user tokens: with the first one, the
// others still verify.
func userTokenKeys(ctx context.Context, ring keyring.Keyring) ([][]byte, error) {
	return ring.Derive(ctx, "user tokens")
}

// ValidUserID reports whether an id may name a user: 1 to 200 characters, no
// control characters, valid UTF-8.
func ValidUserID(id string) bool {
	if n := utf8.RuneCountInString(id); n == 0 || n > MaxUserID {
		return false
	}
	for _, r := range id {
		if r < 0x20 || r == 0x7f || r == utf8.RuneError { // which also stands for what was not UTF-8
			return false
		}
	}
	return true
}

// SignUserToken makes a token with which user signs in until ttl after now. keys
// are those of Gateway.UserTokenKeys.
func SignUserToken(keys [][]byte, user string, now time.Time, ttl time.Duration) (token string, expires time.Time, err error) {
	if !ValidUserID(user) {
		return "", time.Time{}, fmt.Errorf("a user id has 1 to %d characters and no control characters", MaxUserID)
	}
	if ttl < time.Second || ttl > MaxUserTokenTTL {
		return "", time.Time{}, errors.New("a token lives from 1s to 30d")
	}
	if len(keys) == 0 {
		return "", time.Time{}, errors.New("the keyring has no key")
	}
	now = now.Truncate(time.Second)
	expires = now.Add(ttl)
	token, err = jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": UserTokenIssuer, "sub": user, "iat": now.Unix(), "exp": expires.Unix(),
	}).SignedString(keys[0])
	return token, time.Unix(expires.Unix(), 0).UTC(), err
}

// OpenUserTokenKeys returns the keys of the keyring that a configuration file
// describes, for a command of another process than the server. Its arguments are
// those of OpenKeychain; the database is not opened. It makes no key: no server
// would know it.
func OpenUserTokenKeys(ctx context.Context, configFile, adapter string) (keys [][]byte, err error) {
	a, end, err := forCommand(configFile, adapter)
	if err != nil {
		return nil, err
	}
	defer end()
	if file := a.missingKey(); file != "" {
		return nil, fmt.Errorf("there is no key file at %s: run it in the folder of the server or give --config; the server makes the file when it starts", file)
	}
	ring, err := a.ring.Open(a.dir, a.logger)
	if err != nil {
		return nil, fmt.Errorf("keyring: %w", err)
	}
	return userTokenKeys(ctx, ring)
}
