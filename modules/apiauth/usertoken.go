package apiauth

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// UserTokens is the label for which the keyring derives the keys that sign user tokens.
	UserTokens = "user tokens"
	// UserTokenIssuer is the claim iss of the user tokens that Tollgate signs.
	UserTokenIssuer = "tollgate"
	// MaxUserTokenTTL is the longest time that a user token may be valid.
	MaxUserTokenTTL = 30 * 24 * time.Hour
	// MaxUserID is the greatest length of a user id, in characters.
	MaxUserID = 200
)

// ValidUserID reports whether an id is a valid user id: 1 to 200 characters, valid UTF-8 and without control
// characters.
func ValidUserID(id string) bool {
	if n := utf8.RuneCountInString(id); n == 0 || n > MaxUserID {
		return false
	}
	for _, r := range id {
		if r < 0x20 || r == 0x7f || r == utf8.RuneError { // the latter also stands for invalid UTF-8
			return false
		}
	}
	return true
}

// SignUserToken returns a token for a user and the time at which the token expires, which is ttl after now. keys are
// the keys that the keyring derives for UserTokens.
func SignUserToken(
	keys [][]byte, user string, now time.Time, ttl time.Duration,
) (token string, expires time.Time, err error) {
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
