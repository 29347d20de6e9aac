package apiauth

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// UserTokens is the label of the keys that sign user tokens, in the keyring.
	UserTokens = "user tokens"
	// UserTokenIssuer is the claim iss of the user tokens that Tollgate signs.
	UserTokenIssuer = "tollgate"
	// MaxUserTokenTTL is how long such a token lives at most.
	MaxUserTokenTTL = 30 * 24 * time.Hour
	// MaxUserID is the length of a user id in characters, at most.
	MaxUserID = 200
)

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
// are those that the keyring derives for UserTokens.
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
