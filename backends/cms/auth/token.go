package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"errors"
	"math"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/internal/jwt"
	"github.com/tollgate-gateway/tollgate/internal/secret"
)

const (
	// accessLifetime is the lifetime of a token issued in exchange for a refresh token.
	accessLifetime = time.Hour
	// refreshLifetime is the lifetime of an unused refresh token.
	refreshLifetime = 30 * 24 * time.Hour
	// refreshGrace is how long a refresh token is still accepted after its first use. This is for concurrent uses, such as
	// by two tabs, and for a client that did not receive the answer.
	refreshGrace = 10 * time.Second
)

// claims are the claims of a token. Epoch is the user's epoch at the login: a change of the password increases the
// user's epoch, which invalidates the token.
type claims struct {
	Issuer   string `json:"iss"`
	Audience string `json:"aud"`
	Issued   int64  `json:"iat"`
	Before   int64  `json:"nbf"`
	Expires  int64  `json:"exp"`
	ID       string `json:"jti"`
	Subject  string `json:"sub"`
	UserID   int64  `json:"userId"`
	Epoch    int64  `json:"epoch"`
	Family   string `json:"family,omitempty"` // of the refresh tokens of the login
}

// sign returns a token with the given claims, signed with the secret in the settings.
func sign(ctx context.Context, current *settings.Settings, c claims) (string, error) {
	signer := jwt.Signer{Algorithm: "HS256", Signature: func(_ context.Context, input []byte) ([]byte, error) {
		mac := hmac.New(sha256.New, []byte(current.JWTSecret))
		mac.Write(input)
		return mac.Sum(nil), nil
	}}
	return signer.Sign(ctx, "JWT", c)
}

// bearer returns the token in an Authorization header, which has the form "Bearer t", "Bearer+t" or "Bearert" in any
// case. It returns an empty string for other headers.
func bearer(header string) string {
	const scheme = "bearer"
	if len(header) <= len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(header[len(scheme):], "+"))
}

// byToken returns the caller of a request, identified by the token. For a missing, invalid or revoked token it logs the
// cause and returns an error for the client.
func (a *Auth) byToken(r *http.Request, current *settings.Settings) (id Identity, err error) {
	if current.JWTSecret == "" {
		return id, errNoSecret
	}
	header := r.Header.Get("Authorization")
	if header == "" {
		return id, &handler.Error{
			Code: http.StatusUnauthorized, Message: errRequired.Message,
			Header: http.Header{"Www-Authenticate": {"Bearer"}},
		}
	}
	c, err := a.verify(r.Context(), current, issuer(a.Host(r)), bearer(header))
	if err == nil {
		id.token = c
		id.User, err = a.owner(r.Context(), c)
	}
	if invalid, ok := errors.AsType[jwt.Error](err); ok {
		a.Logger().Info("token refused", zap.String("cause", invalid.Error()))
		return Identity{}, &handler.Error{
			Code: http.StatusUnauthorized, Message: "invalid token",
			Header: http.Header{"Www-Authenticate": {`Bearer error="invalid_token"`}},
		}
	}
	return id, err
}

// verify checks the signature and the claims of a token, and returns the claims. text is the token, and host is the
// host of the request. The error is a jwt.Error if the token is invalid.
func (a *Auth) verify(ctx context.Context, current *settings.Settings, host, text string) (*claims, error) {
	v := jwt.Verifier{
		Issuers: []*jwt.Issuer{{
			Name: host, Audiences: []string{host}, Algorithms: []string{"HS256"}, SubjectClaim: "sub",
			Keys: jwks.Fixed{{Algorithm: "HS256", Key: []byte(current.JWTSecret)}},
		}},
		Types: []string{"", "JWT"}, ValidSubject: func(s string) bool { return s != "" }, Now: a.Now,
	}
	token, err := v.Verify(ctx, text)
	if err != nil {
		return nil, err
	}
	c := &claims{Subject: token.Subject, Expires: token.Expires.Unix()}
	var hasUser, hasEpoch bool
	c.ID, _ = token.Claims["jti"].(string)
	c.UserID, hasUser = integer(token.Claims["userId"])
	c.Epoch, hasEpoch = integer(token.Claims["epoch"])
	c.Family, _ = token.Claims["family"].(string)
	if !hasUser || !hasEpoch || c.ID == "" || len(c.ID) > 128 {
		return nil, jwt.ErrClaim
	}
	return c, nil
}

// integer returns the value of a claim. ok is false if the claim is missing or is not an integer.
func integer(claim any) (n int64, ok bool) {
	number, ok := claim.(float64)
	return int64(number), ok && number == math.Trunc(number) && math.Abs(number) < 1<<53
}

// owner returns the user to whom a token was issued. It returns a jwt.Error if the token is revoked, or if the user is
// disabled or has another name or password by now.
func (a *Auth) owner(ctx context.Context, c *claims) (*kernel.User, error) {
	revoked, err := a.revoked.Get(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	if revoked {
		return nil, jwt.Error("the token is revoked")
	}
	user, err := a.holder(ctx, c)
	if err == nil && user.Name != c.Subject {
		err = errChanged
	}
	if err != nil {
		return nil, err
	}
	return user, nil
}

// errChanged is the error for a token that was issued before its user was changed.
const errChanged = jwt.Error("the name or the password of the user has changed since the token was issued")

// holder returns the user whose ID is in the claims of a token. It returns a jwt.Error if the user is disabled, or
// has another epoch by now.
func (a *Auth) holder(ctx context.Context, c *claims) (*kernel.User, error) {
	user, epoch, err := a.accounts.User(ctx, c.UserID)
	switch {
	case kernel.IsNotFound(err):
		return nil, jwt.Error("the user does not exist or is disabled")
	case err != nil:
		return nil, err
	case epoch != c.Epoch:
		return nil, errChanged
	}
	return user, nil
}

// isRevoked reports whether the database lists the token with the given ID as revoked.
func (a *Auth) isRevoked(ctx context.Context, jti string) (revoked bool, err error) {
	err = a.Read(ctx, func(c kernel.Conn) error {
		var n int64
		err := c.Row("SELECT COUNT(*) FROM cms_revoked_tokens WHERE jti = ?", jti).Scan(&n)
		revoked = n > 0
		return err
	})
	return revoked, err
}

// revoke revokes a token and deletes the refresh tokens of the same login.
func (a *Auth) revoke(ctx context.Context, t *claims) error {
	err := a.Write(ctx, func(c kernel.Conn) error {
		_, err := c.Exec("INSERT INTO cms_revoked_tokens (jti, ends_at) VALUES (?, ?) ON CONFLICT (jti) DO NOTHING",
			t.ID, time.Unix(t.Expires, 0).UnixMicro())
		if err == nil && t.Family != "" {
			err = endFamily(c, t.Family)
		}
		if err != nil {
			return err
		}
		return c.Notify(revokedTopic, t.ID)
	})
	a.revoked.Drop(t.ID) // also after an error: the commit may have succeeded
	return err
}

// endFamily deletes all refresh tokens that stem from the same login. family is the random ID that these tokens
// share.
func endFamily(c kernel.Conn, family string) error {
	_, err := c.Exec("DELETE FROM cms_refresh_tokens WHERE family = ?", family)
	return err
}

// addRefresh creates a refresh token for a user, stores its hash and returns it. family identifies the login.
func (a *Auth) addRefresh(c kernel.Conn, family string, user, epoch int64) (text string, err error) {
	text = secret.New()
	_, err = c.Exec("INSERT INTO cms_refresh_tokens (hash, family, user_id, epoch, ends_at) VALUES (?, ?, ?, ?, ?)",
		secret.Hash(text), family, user, epoch, a.Now().Add(refreshLifetime).UnixMicro())
	return text, err
}

// useRefresh exchanges a refresh token for the next token of the same login. It also returns claims with the user,
// the epoch and the family of the login. A token may be used several times within refreshGrace after its first use,
// with a different result each time. A later use means that the token was stolen, and ends all refresh tokens of the
// login. The error is a jwt.Error if the token is not accepted.
func (a *Auth) useRefresh(ctx context.Context, refreshToken string) (next string, t claims, err error) {
	errRefused := jwt.Error("the refresh token is unknown, expired or has been used before")
	var reused bool
	err = a.Write(ctx, func(c kernel.Conn) error {
		reused = false       // Write may run this function several times
		var used, ends int64 // in microseconds since 1970; used is 0 before the first use
		err := c.Row("SELECT family, user_id, epoch, used, ends_at FROM cms_refresh_tokens WHERE hash = ?",
			secret.Hash(refreshToken)).Scan(&t.Family, &t.UserID, &t.Epoch, &used, &ends)
		if errors.Is(err, sql.ErrNoRows) || err == nil && ends <= a.Now().UnixMicro() {
			return errRefused
		}
		if err != nil {
			return err
		}
		switch now := a.Now().UnixMicro(); {
		case used == 0:
			if _, err := c.Exec("UPDATE cms_refresh_tokens SET used = ? WHERE hash = ?", now, secret.Hash(refreshToken)); err != nil {
				return err
			}
		case now-used > refreshGrace.Microseconds():
			reused = true
			return endFamily(c, t.Family)
		}
		next, err = a.addRefresh(c, t.Family, t.UserID, t.Epoch)
		return err
	})
	if err == nil && reused {
		a.Logger().Warn("a refresh token was used again; all refresh tokens of its login are deleted",
			zap.Int64("user", t.UserID))
		return "", t, errRefused
	}
	return next, t, err
}
