package tokens

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Grant is what a person has granted to a client, and how the code for it may be used.
type Grant struct {
	Client string `json:"-"` // client_id
	User   string `json:"-"` // sub
	// Scope is what was granted, openid and its like among it.
	Scope []string `json:"scope,omitempty"`
	// Resources are the ids of the resources that the token is for. None: it is for
	// this server.
	Resources []string `json:"resources,omitempty"`
	// Consents are the ids of the rows of authserver_consents it rests on: where one
	// is gone when the code comes, nothing is issued.
	Consents []string `json:"consents,omitempty"`
	// RedirectURI is where the code goes. RedirectGiven: the request named it, so the
	// token request must, too.
	RedirectURI   string `json:"redirect_uri,omitempty"`
	RedirectGiven bool   `json:"redirect_given,omitempty"`
	// Challenge is code_challenge, of the method S256.
	Challenge string `json:"challenge,omitempty"`
	Nonce     string `json:"nonce,omitempty"`
	// AuthTime is when the person signed in.
	AuthTime time.Time `json:"auth_time"`
	// JKT is the thumbprint of the key that the code is bound to (dpop_jkt). Empty: none.
	JKT string `json:"jkt,omitempty"`
	// Session is the id of the session in which it was granted; zero: none.
	Session int64 `json:"session,omitempty"`
}

// IssueCode stores a grant and returns the code for it, 43 characters of base64url. It
// is good once, and for as long as Options.CodeLife.
func (t *Tokens) IssueCode(ctx context.Context, g Grant) (code string, err error) {
	granted, err := json.Marshal(g)
	if err != nil {
		return "", fmt.Errorf("storing a grant: %w", err)
	}
	code = secret.New()
	return code, t.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("INSERT INTO authserver_codes (digest, family, client_id, user_id, granted, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
			digest(code), kernel.NewID(), g.Client, g.User, string(granted), t.Now().Add(t.options.CodeLife).UnixMicro())
		return err
	})
}

// digest is how a code or a token is stored.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
