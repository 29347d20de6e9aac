package accounts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// A token consists of TokenPrefix, a lookup of LookupSize characters, an underscore and the secret.
const (
	TokenPrefix  = "brd_pat_"
	LookupSize   = 10
	lookupDigits = "abcdefghijklmnopqrstuvwxyz234567" // base32
	secretSize   = 43                                 // 32 bytes in base64url

	// TokenTTL is how long a cached token is used before it is read from the database again.
	TokenTTL = 4 * time.Second
	// maxCachedTokens is the maximum number of cached tokens, and of recorded uses.
	maxCachedTokens = 20_000
)

// cachedToken is the result of reading a token from the database. Its token is nil if no valid token was found.
type cachedToken struct {
	token   *rights.Token
	user    *rights.User
	hash    [sha256.Size]byte // of the token's secret
	readAt  time.Time
	version int64 // the version of the permissions at readAt; see rights.Access
}

// Tokens caches tokens for a few seconds, and records when they were last used. It is safe for concurrent use.
type Tokens struct {
	cache *ristretto.Cache[string, cachedToken] // by lookup

	mu   sync.Mutex              // guards used
	used map[int64]kernel.Moment // when tokens were last used, by id; not yet written
}

// NewTokens returns an empty cache.
func NewTokens() *Tokens {
	cache, err := ristretto.NewCache(&ristretto.Config[string, cachedToken]{
		NumCounters: 10 * maxCachedTokens, MaxCost: maxCachedTokens, BufferItems: 64, IgnoreInternalCost: true,
	})
	if err != nil {
		panic(err) // the configuration above is wrong
	}
	return &Tokens{cache: cache}
}

// forget removes tokens from the cache, so that they are read from the database again.
func (t *Tokens) forget(lookups ...string) {
	t.cache.Wait() // entries that are still being added may be from before the change
	for _, lookup := range lookups {
		t.cache.Del(lookup)
	}
}

// Close closes the cache.
func (t *Tokens) Close() { t.cache.Close() }

// touch records that a token was used now. If too many uses are recorded already, uses of other tokens are not
// recorded.
func (t *Tokens) touch(id int64, now kernel.Moment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used == nil {
		t.used = make(map[int64]kernel.Moment)
	}
	if _, recorded := t.used[id]; recorded || len(t.used) < maxCachedTokens {
		t.used[id] = now
	}
}

// Take returns when tokens were last used, by their ids, and clears the record. The caller stores the result with
// WriteUses.
func (t *Tokens) Take() map[int64]kernel.Moment {
	t.mu.Lock()
	defer t.mu.Unlock()
	used := t.used
	t.used = nil
	return used
}

// errToken returns the error (status 401) for a token that is not valid. The response is the same for every cause;
// the cause is only logged.
func errToken(cause string) error {
	return &apierror.Error{
		Status: http.StatusUnauthorized, Code: "unauthenticated", Cause: errors.New(cause),
		Message: "the token is not valid: send a current one as Authorization: Bearer brd_pat_…",
	}
}

// ParseToken splits a token into its lookup, by which the database finds it, and the hash of its secret. ok is false if
// text does not have the form of a token.
func ParseToken(text string) (lookup string, hash [sha256.Size]byte, ok bool) {
	body, ok := strings.CutPrefix(text, TokenPrefix)
	if !ok || len(body) != LookupSize+1+secretSize || body[LookupSize] != '_' {
		return "", hash, false
	}
	lookup = body[:LookupSize]
	if strings.Trim(lookup, lookupDigits) != "" { // other characters are left
		return "", hash, false
	}
	secret, err := base64.RawURLEncoding.Strict().DecodeString(body[LookupSize+1:])
	if err != nil {
		return "", hash, false
	}
	return lookup, sha256.Sum256(secret), true
}

// Authenticate returns the actor of an API token. It checks the token on every request. The caller must check the state
// of the token's owner, such as a ban. It returns an error with status 401 if the token is not valid.
func (s *Service) Authenticate(ctx context.Context, text string) (*rights.Actor, error) {
	lookup, hash, ok := ParseToken(text)
	if !ok {
		return nil, errToken("malformed token")
	}
	access, err := s.rights.CurrentAccess(ctx)
	if err != nil {
		return nil, err
	}
	now := s.Now()
	entry, ok := s.tokens.cache.Get(lookup)
	// An entry is not used if it is old, or from a time after now because the clock was set back.
	if !ok || entry.version != access.Version || now.Sub(entry.readAt) >= TokenTTL || now.Before(entry.readAt) {
		if entry, err = s.loadToken(ctx, lookup); err != nil {
			return nil, err
		}
		entry.readAt, entry.version = now, access.Version
	}
	// The secret is compared even if the token is unknown, so that this takes as long as for a wrong secret.
	match := subtle.ConstantTimeCompare(hash[:], entry.hash[:]) == 1
	switch {
	case entry.token == nil:
		return nil, errToken("unknown, or revoked")
	case !match:
		return nil, errToken("wrong secret")
	case entry.token.ExpiresAt != 0 && entry.token.ExpiresAt <= kernel.MomentOf(now):
		return nil, errToken("expired")
	}
	if !entry.readAt.Before(now) { // it was just read from the database
		s.tokens.cache.SetWithTTL(lookup, entry, 1, TokenTTL)
	}
	s.tokens.touch(entry.token.ID, kernel.MomentOf(now))
	return &rights.Actor{User: entry.user, Token: entry.token, Rights: access.Of(entry.user.ID, entry.user.Groups)}, nil
}

// loadToken reads a token that is not revoked from the database. If no such token exists, the token in the result is
// nil.
func (s *Service) loadToken(ctx context.Context, lookup string) (cachedToken, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (entry cachedToken, err error) {
		token := new(rights.Token)
		var hash, scopes string
		user, err := rights.ScanUser(c.Row("SELECT "+
			rights.UserColumns+", t.id, t.name, t.secret_hash, t.scopes, COALESCE(t.expires_at, 0)"+
			" FROM board_api_tokens t JOIN board_users u ON u.id = t.user_id WHERE t.lookup = ? AND t.revoked_at IS NULL",
			lookup),
			&token.ID, &token.Name, &hash, &scopes, &token.ExpiresAt)
		if errors.Is(err, sql.ErrNoRows) {
			return entry, nil
		}
		if err != nil {
			return entry, err
		}
		raw, err := hex.DecodeString(hash)
		if err != nil || len(raw) != sha256.Size {
			return entry, fmt.Errorf("the secret_hash of the API token %s in the database is not a SHA-256 hash", lookup)
		}
		if err := rights.LoadGroups(c, user); err != nil {
			return entry, err
		}
		token.Scopes = rights.ScopesOf(strings.Fields(scopes))
		return cachedToken{token: token, user: user, hash: [sha256.Size]byte(raw)}, nil
	})
}

// TokenRequest describes a token to be created.
type TokenRequest struct {
	User   string // name of the owner
	Name   string
	Scopes []string
	Days   int // until it expires; 0 means never
}

// IssueToken creates a token and returns its text, which is not stored.
func (s *Service) IssueToken(ctx context.Context, r TokenRequest) (token string, err error) {
	if err := CheckToken(r); err != nil {
		return "", err
	}
	return kernel.Value(ctx, s.Write, func(c store.Conn) (string, error) {
		return s.Issue(c, r, text.Normal(r.Name), rights.ScopesOf(r.Scopes))
	})
}

// CheckToken returns an error of Invalid if the scopes, the name or the lifetime of a requested token are not
// allowed.
func CheckToken(r TokenRequest) error {
	scopes := rights.ScopesOf(r.Scopes)
	name := text.Normal(r.Name)
	switch n := utf8.RuneCountInString(name); {
	case len(scopes) == 0 || len(scopes) != len(r.Scopes):
		return kernel.Invalid("scopes", "unknown", "scopes must be some of "+strings.Join(rights.Scopes, " "))
	case n == 0 || n > 80 || !text.IsLine(name):
		return kernel.Invalid("name", "length", "a token needs a name of 1 to 80 characters")
	case r.Days < 0 || r.Days > 3650:
		return kernel.Invalid("expires", "range", "a token lasts 1 to 3650 days, or for ever")
	}
	return nil
}

// Issue creates a token and returns its text. CheckToken must have accepted r; name and scopes are its normalized name
// and scopes. Issue returns an error of Invalid if the member does not exist or has too many valid tokens.
func (s *Service) Issue(c store.Conn, r TokenRequest, name string, scopes []string) (string, error) {
	var user, active int64
	now := s.Moment()
	err := c.Row("SELECT id FROM board_users WHERE username_key = ?"+c.Lock(), text.Fold(r.User)).Scan(&user)
	if errors.Is(err, sql.ErrNoRows) {
		return "", kernel.Invalid("user", "unknown", "there is no member of that name")
	}
	if err != nil {
		return "", err
	}
	err = c.Row("SELECT count(*) FROM board_api_tokens WHERE user_id = ? AND revoked_at IS NULL AND (expires_at IS NULL"+
		" OR expires_at > ?)", user, now).Scan(&active)
	if err != nil {
		return "", err
	}
	settings, err := kernel.LoadSettings(c, kernel.DefaultSettings(s.Options))
	if err != nil {
		return "", err
	}
	if active >= settings.MaxTokens {
		return "", kernel.Invalid("user", "too_many", "the member has "+kernel.Itoa(active)+
			" valid tokens already; revoke one first")
	}
	text, lookup, hash := NewToken()
	var expires kernel.Moment
	if r.Days > 0 {
		expires = now.Add(time.Duration(r.Days) * 24 * time.Hour)
	}
	return text, insertToken(c, user, name, lookup, hash, scopes, now, expires)
}

// insertToken stores a token of a member. If expires is 0, the token does not expire.
func insertToken(
	c store.Conn, user int64, name, lookup string, hash [sha256.Size]byte, scopes []string, now, expires kernel.Moment,
) error {
	_, err := c.Exec("INSERT INTO board_api_tokens (user_id, name, lookup, secret_hash, scopes, created_at, expires_at)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?)",
		user, name, lookup, hex.EncodeToString(hash[:]), strings.Join(scopes, " "), now, kernel.Null(expires))
	return err
}

// NewToken generates a random token. It returns the token's text, and the lookup and the hash that the database stores.
func NewToken() (text, lookup string, hash [sha256.Size]byte) {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	random := make([]byte, 8)
	_, _ = rand.Read(random)
	lookup = strings.ToLower(base32.StdEncoding.EncodeToString(random))[:LookupSize]
	return TokenPrefix + lookup + "_" + base64.RawURLEncoding.EncodeToString(secret), lookup, sha256.Sum256(secret)
}

// RevokeToken revokes a token, given by its text or by the part before its secret. The token is refused from the next
// request on. It returns NotFound if there is no such token.
func (s *Service) RevokeToken(ctx context.Context, text string) error {
	lookup := strings.TrimPrefix(text, TokenPrefix)
	lookup, _, _ = strings.Cut(lookup, "_")
	err := s.Write(ctx, func(c store.Conn) error {
		n, err := c.Exec("UPDATE board_api_tokens SET revoked_at = ? WHERE lookup = ? AND revoked_at IS NULL",
			s.Moment(), lookup)
		if err != nil {
			return err
		}
		if n == 0 {
			return kernel.NotFound()
		}
		return rights.BumpPermissions(c) // the new version makes other nodes read the token again
	})
	s.tokens.forget(lookup)
	return err
}

// WriteUses stores when tokens were last used.
func WriteUses(c store.Conn, uses map[int64]kernel.Moment) error {
	for _, token := range slices.Sorted(maps.Keys(uses)) {
		if _, err := c.Exec("UPDATE board_api_tokens SET last_used_at = ? WHERE id = ?", uses[token], token); err != nil {
			return err
		}
	}
	return nil
}

// ForgetTokens removes tokens from the cache, so that they are read from the database again.
func (s *Service) ForgetTokens(lookups ...string) { s.tokens.forget(lookups...) }
