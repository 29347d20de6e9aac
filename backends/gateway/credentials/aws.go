package credentials

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// accessKey is an access key of AWS. Temporary keys have a SessionToken.
type accessKey struct {
	ID           string `json:"access_key_id"`
	Secret       string `json:"secret_access_key"`
	SessionToken string `json:"session_token"`
}

// signer signs with Signature Version 4.
var signer = v4.NewSigner()

// signs reports whether secret, a key of the provider p, signs requests rather than being sent in them.
func signs(p *catalog.Provider, secret string) bool {
	return p.Auth == catalog.AuthAWS && (strings.HasPrefix(secret, "{") || secret == catalog.WorkloadIdentity)
}

// Sign signs a request with Signature Version 4 if the key is an access key of AWS, and otherwise does nothing. For
// the identity of the machine it signs with the temporary access key that AWS provides. If this key is not cached, it
// is fetched by transport. open returns the body from its start; Sign reads and closes it. Of the fields that a
// signature does not need, only Content-Type is signed, because proxies may change other fields. The error is an
// *Error, the error of the request's context or an error of reading the body.
func (t *Tokens) Sign(
	r *http.Request, p *catalog.Provider, secret string, transport http.RoundTripper, open func() io.ReadCloser,
) error {
	if !signs(p, secret) {
		return nil
	}
	if secret == catalog.WorkloadIdentity {
		var err error
		if secret, err = t.token(r.Context(), p, secret, transport); err != nil {
			return err
		}
	}
	var key accessKey
	if json.Unmarshal([]byte(secret), &key) != nil || !sendable(key.ID) || !sendable(key.Secret) ||
		key.SessionToken != "" && !sendable(key.SessionToken) {
		return &Error{
			Refused: true,
			Message: "the key is a JSON object, but it is without the members access_key_id and secret_access_key of an AWS access key",
		}
	}
	body, hash := open(), sha256.New()
	_, err := io.Copy(hash, body)
	if err = errors.Join(err, body.Close()); err != nil {
		return err
	}
	toSign := &http.Request{ // only the parts of r that are signed
		Method: r.Method, URL: r.URL, Host: r.Host, ContentLength: r.ContentLength,
		Header: http.Header{"Content-Type": r.Header["Content-Type"]},
	}
	err = signer.SignHTTP(
		r.Context(), aws.Credentials{AccessKeyID: key.ID, SecretAccessKey: key.Secret, SessionToken: key.SessionToken},
		toSign, hex.EncodeToString(hash.Sum(nil)), p.SigningService, p.SigningRegion, t.now(),
	)
	if err != nil {
		return &Error{Message: "the request could not be signed"}
	}
	for _, name := range [...]string{"Authorization", "X-Amz-Date", "X-Amz-Security-Token"} {
		if value := toSign.Header[name]; value != nil {
			r.Header[name] = value
		}
	}
	return nil
}

// sendable reports whether text is valid in a header field.
func sendable(text string) bool {
	return text != "" && len(text) <= maxHeader && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r > '~'
	})
}
