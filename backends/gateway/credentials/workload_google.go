package credentials

import (
	"context"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// googleWorkload is the identity that Google Cloud gives to a machine or a pod. Its tokens come from the metadata
// server, or from the address in GCE_METADATA_HOST if that is set.
type googleWorkload struct{}

// token implements grant. The library does not accept a context. A cancelled request therefore continues until the
// metadata server answers or the library's own timeout ends it.
func (googleWorkload) token(ctx context.Context, p *catalog.Provider) (*oauth2.Token, error) {
	type result struct {
		token *oauth2.Token
		err   error
	}
	fetched := make(chan result, 1)
	go func() {
		token, err := google.ComputeTokenSource("", p.TokenScope).Token()
		fetched <- result{token, err}
	}()
	select {
	case r := <-fetched:
		if r.err != nil {
			return nil, &Error{
				Message: "the metadata server returned no token: the machine or pod may not be in Google Cloud, or have no service account",
			}
		}
		return r.token, nil
	case <-ctx.Done():
		return nil, &Error{Message: "the metadata server did not answer in time"}
	}
}
