// Package wire knows the bytes of the model APIs: it reads requests and
// replies of the chat-completions form and edits them in place, keeping every
// byte that it does not have to change. It knows no network and no policy.
package wire

import (
	"net/http"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// CheckObject makes sure that a request body is one JSON object of bounded depth in
// valid UTF-8 that names no member of its top level twice, so that it can be
// read by gjson. Its error is an *apierror.Error with status 400.
func CheckObject(body []byte) error {
	s := jsontext.NewScanner(body)
	if s.Kind() != jsontext.Object {
		return apierror.New(http.StatusBadRequest, "invalid_json", "the request body must be a JSON object, it is %s", bodyKind(&s, body))
	}
	seen := make(map[string]struct{}, 16)
	err := s.Object(func(key []byte) error {
		if _, twice := seen[string(key)]; twice {
			return apierror.New(http.StatusBadRequest, "invalid_value", "the field %q is given twice", key).With(string(key))
		}
		if len(seen) == maxFields {
			return apierror.New(http.StatusBadRequest, "invalid_value", "the request has more than %d fields", maxFields)
		}
		seen[string(key)] = struct{}{}
		return s.Skip()
	})
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return syntax(err)
	}
	if !s.ASCII() && !utf8.Valid(body) {
		return apierror.New(http.StatusBadRequest, "invalid_json", "the request body is not valid UTF-8")
	}
	return nil
}
