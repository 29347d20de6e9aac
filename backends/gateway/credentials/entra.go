package credentials

import (
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// application is an application registered with Microsoft Entra ID, which gets tokens by the client credentials grant.
type application struct {
	Tenant       string `json:"tenant_id"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
}

// tenantPattern matches a tenant's id or domain name.
var tenantPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]{0,99}$`)

// parseApplication parses a key that is a JSON object with an application.
func parseApplication(secret string) (grant, error) {
	a := new(application)
	if json.Unmarshal([]byte(secret), a) != nil || !tenantPattern.MatchString(a.Tenant) || a.ClientID == "" ||
		a.ClientSecret == "" {
		return nil, &Error{
			Refused: true,
			Message: "the key is a JSON object, but it is without the members tenant_id, client_id and client_secret of an application",
		}
	}
	return a, nil
}

// token implements grant.
func (a *application) token(ctx context.Context, p *catalog.Provider) (*oauth2.Token, error) {
	config := clientcredentials.Config{
		ClientID: a.ClientID, ClientSecret: a.ClientSecret, Scopes: []string{p.TokenScope},
		AuthStyle: oauth2.AuthStyleInParams,
		TokenURL:  strings.ReplaceAll(p.TokenURL, "{tenant}", url.PathEscape(a.Tenant)),
	}
	return config.Token(ctx)
}
