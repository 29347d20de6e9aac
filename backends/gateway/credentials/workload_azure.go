package credentials

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// azureMetadata is the address of Azure's metadata service on a virtual machine.
const azureMetadata = "http://169.254.169.254"

// azureWorkload is the identity that Azure gives to a machine, an app or a pod. The environment decides where its
// tokens come from, in the order of Microsoft's own libraries: Entra ID for the token of a Kubernetes service account,
// the identity endpoint of App Service, Functions and Container Apps, or else the metadata service of the virtual
// machine. AZURE_CLIENT_ID chooses between several identities.
type azureWorkload struct {
	environment func(string) string
}

// token implements grant.
func (w *azureWorkload) token(ctx context.Context, p *catalog.Provider) (*oauth2.Token, error) {
	endpoint, headerValue := w.environment("IDENTITY_ENDPOINT"), w.environment("IDENTITY_HEADER")
	switch {
	case w.environment("AZURE_FEDERATED_TOKEN_FILE") != "":
		return w.federated(ctx, p)
	case endpoint == "":
		base := cmp.Or(w.environment("AZURE_POD_IDENTITY_AUTHORITY_HOST"), azureMetadata)
		return w.managed(ctx, p, strings.TrimRight(base, "/")+"/metadata/identity/oauth2/token", "2018-02-01",
			"Metadata", "true", "the metadata service of Azure")
	case headerValue == "":
		return nil, &Error{
			Message: "IDENTITY_ENDPOINT is set without IDENTITY_HEADER; identities of Azure Arc, which does that, are not supported",
		}
	}
	return w.managed(ctx, p, endpoint, "2019-08-01", "X-Identity-Header", headerValue, "the server of IDENTITY_ENDPOINT")
}

// federated exchanges the token of a Kubernetes service account for a token of the application that trusts the account.
func (w *azureWorkload) federated(ctx context.Context, p *catalog.Provider) (*oauth2.Token, error) {
	const variable = "AZURE_FEDERATED_TOKEN_FILE"
	tenant, client := w.environment("AZURE_TENANT_ID"), w.environment("AZURE_CLIENT_ID")
	if !tenantPattern.MatchString(tenant) || client == "" {
		return nil, &Error{Message: variable + " is set, but AZURE_TENANT_ID or AZURE_CLIENT_ID is not"}
	}
	assertion, err := readTokenFile(w.environment(variable), variable)
	if err != nil {
		return nil, err
	}
	config := clientcredentials.Config{
		ClientID: client, Scopes: []string{p.TokenScope}, AuthStyle: oauth2.AuthStyleInParams,
		TokenURL: strings.ReplaceAll(p.TokenURL, "{tenant}", url.PathEscape(tenant)),
		EndpointParams: url.Values{
			"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
			"client_assertion":      {assertion},
		},
	}
	token, err := config.Token(ctx)
	if err != nil {
		failed := explain(err)
		failed.Refused = false // the platform renews the token in the file before it expires
		return nil, failed
	}
	return token, nil
}

// managed gets a token of a managed identity from the server at endpoint, which runs on the machine. version is the
// version of the server's API. The request must have the header field headerName with the value headerValue. server
// names the server in errors.
func (w *azureWorkload) managed(
	ctx context.Context, p *catalog.Provider, endpoint, version, headerName, headerValue, server string,
) (*oauth2.Token, error) {
	address, err := url.Parse(endpoint)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, &Error{Message: "the address of " + server + " in the environment is not an http or https URL"}
	}
	query := address.Query()
	query.Set("api-version", version)
	query.Set("resource", strings.TrimSuffix(p.TokenScope, "/.default"))
	if id := w.environment("AZURE_CLIENT_ID"); id != "" {
		query.Set("client_id", id)
	}
	address.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, &Error{Message: "the address of " + server + " in the environment is not an http or https URL"}
	}
	r.Header.Set(headerName, headerValue)
	body, err := exchange(metadata, r, server, func(body []byte) string { return gjson.GetBytes(body, "error").Str })
	if err != nil {
		return nil, err
	}
	return parseManaged(body, server)
}

// parseManaged parses the response of a server for managed identities, in which numbers may be JSON strings. server
// names the server in errors.
func parseManaged(body []byte, server string) (*oauth2.Token, error) {
	token := gjson.GetBytes(body, "access_token").Str
	if token == "" || !gjson.ValidBytes(body) {
		return nil, &Error{Message: server + " returned no token"}
	}
	var expiry time.Time
	const year = 366 * 24 * 3600
	if expires := gjson.GetBytes(body, "expires_on").Int(); expires > 0 && expires < 1<<40 {
		expiry = time.Unix(expires, 0)
	} else if lifetime := gjson.GetBytes(body, "expires_in").Int(); lifetime > 0 && lifetime < year {
		expiry = time.Now().Add(time.Duration(lifetime) * time.Second)
	}
	return &oauth2.Token{AccessToken: token, Expiry: expiry}, nil
}
