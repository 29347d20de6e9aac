package authorize

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The values of response_mode. The response is in the query of the redirect URI, or in the body of a form that the
// browser posts to that URI (OAuth 2.0 Form Post Response Mode).
const (
	queryMode = "query"
	formMode  = "form_post"
)

// Response is a response to a client, sent through the browser.
type Response struct {
	// To is the redirect URI.
	To string
	// Form is set if the browser posts the parameters in a form. Otherwise the browser is redirected with the
	// parameters in the query.
	Form bool
	// Parameters are the parameters, in their order.
	Parameters []Parameter
}

// Parameter is a parameter of a response.
type Parameter struct{ Name, Value string }

// Location returns the redirect URI with the parameters appended to its query. Existing query parameters are kept.
func (r *Response) Location() string {
	var b strings.Builder
	b.WriteString(r.To)
	separator := byte('?')
	if strings.Contains(r.To, "?") {
		separator = '&'
	}
	for _, p := range r.Parameters {
		b.WriteByte(separator)
		b.WriteString(p.Name + "=" + url.QueryEscape(p.Value))
		separator = '&'
	}
	return b.String()
}

// Refused returns the response that sends a refusal to the client.
func (s *Authorize) Refused(refusal *RefusalError) *Response {
	return s.newResponse(refusal.Request, "error", refusal.Reason.Code, "error_description", refusal.Reason.Message)
}

// newResponse returns a response with parameters, given as alternating names and values. It always adds the parameter
// iss (RFC 9207), and adds state if the request contained it.
func (s *Authorize) newResponse(r *Request, pairs ...string) *Response {
	pairs = append(pairs, "iss", s.Issuer)
	if len(r.State) > 0 {
		pairs = append(pairs, "state", string(r.State))
	}
	response := &Response{To: r.Redirect, Form: r.Form}
	for i := 0; i < len(pairs); i += 2 {
		response.Parameters = append(response.Parameters, Parameter{pairs[i], pairs[i+1]})
	}
	return response
}

// Modes returns the supported values of response_mode.
func (s *Authorize) Modes() []string {
	if s.FormPost {
		return []string{queryMode, formMode}
	}
	return []string{queryMode}
}

// setMode sets the response mode of a request. It must be called before other parameters are checked, since their
// errors are sent in that mode. If the mode is not supported, setMode returns the fault, and the response is a
// redirect.
func (s *Authorize) setMode(r *Request, mode string) (fault string) {
	switch {
	case mode == "" || mode == queryMode: // the default
	case mode != formMode || !s.FormPost:
		return "response_mode must be " + strings.Join(s.Modes(), " or ")
	case !strings.HasPrefix(r.Redirect, "https://") && !strings.HasPrefix(r.Redirect, "http://"):
		return "response_mode=form_post needs a redirect_uri with https or http"
	case !postable(r.State):
		r.State = nil
		return "with response_mode=form_post, state must be UTF-8 without control characters"
	default:
		r.Form = true
	}
	return ""
}

// postable reports whether browsers send a text in a form unchanged. They change line breaks, for example.
func postable(text []byte) bool {
	return utf8.Valid(text) && strings.IndexFunc(string(text), unicode.IsControl) < 0
}
