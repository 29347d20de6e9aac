package credentials

import (
	"context"
	"encoding/json"
	"encoding/pem"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// serviceAccount is the key file of a Google Cloud service account. Its token_uri is ignored, because the user who
// added the key could have put any address there.
type serviceAccount struct {
	Type         string `json:"type"`
	Email        string `json:"client_email"`
	PrivateKey   string `json:"private_key"`
	PrivateKeyID string `json:"private_key_id"`
}

// parseServiceAccount parses a key that is the key file of a service account.
func parseServiceAccount(secret string) (grant, error) {
	a := new(serviceAccount)
	if json.Unmarshal([]byte(secret), a) != nil || a.Type != "service_account" || a.Email == "" || a.PrivateKey == "" {
		return nil, &Error{
			Refused: true, Message: "the key is a JSON object, but not the key file of a service account (type service_account, client_email, private_key)",
		}
	}
	return a, nil
}

// token implements grant.
func (a *serviceAccount) token(ctx context.Context, p *catalog.Provider) (*oauth2.Token, error) {
	config := jwt.Config{
		Email: a.Email, PrivateKey: []byte(a.PrivateKey), PrivateKeyID: a.PrivateKeyID, Scopes: []string{p.TokenScope},
		TokenURL: p.TokenURL,
	}
	if block, _ := pem.Decode(config.PrivateKey); block == nil {
		return nil, &Error{Refused: true, Message: "the private_key of the service account is not PEM text"}
	}
	return config.TokenSource(ctx).Token()
}
