package wire

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// UpstreamError is an error that an upstream stated, in any of the forms that providers use.
type UpstreamError struct {
	// Status is the HTTP status. It is 200 for an error inside a successful answer.
	Status int
	// Message has at most 2,000 bytes, with keys masked.
	Message           string
	Type, Code, Param string
	// RetryDelay is the wait that the body suggests, for example "34s", or an empty string.
	RetryDelay string
	// Daily is set if the exhausted quota is counted per day.
	Daily bool
}

// Error implements error.
func (e *UpstreamError) Error() string {
	return fmt.Sprintf("upstream answered %d %s: %s", e.Status, e.Code, e.Message)
}

// secrets matches texts that look like an API key. Upstreams often quote the key that they reject.
var secrets = regexp.MustCompile(
	`\b(?:(?:sk|ak|pk|rk|gsk|xai|key|csk|fw|pplx|nvapi|hf|r8|tgp)[-_][A-Za-z0-9*]|AIza)[A-Za-z0-9*_\-]{10,}|(?i:Bearer)\s+[^\s"']+`)

// Mask replaces texts that look like an API key and cuts the result to at most n bytes.
func Mask(message string, n int) string {
	return text.CutBytes(secrets.ReplaceAllString(message, "***"), n)
}

// ParseUpstreamError parses the body of an error answer. For a body that is not JSON, such as a proxy's HTML page, only
// the status is set, with a general message.
func ParseUpstreamError(status int, body []byte) *UpstreamError {
	e := &UpstreamError{Status: status}
	body = ValidUTF8(body)
	s := jsontext.NewScanner(body)
	if s.Skip() != nil || s.End() != nil { // gjson requires valid input of bounded depth
		e.Message = fmt.Sprintf("the upstream answered with status %d and no readable error", status)
		return e
	}
	root := gjson.ParseBytes(body)
	if root.IsArray() { // Gemini's chat completions API
		root = root.Get("0")
	}
	object := root
	switch inner := root.Get("error"); {
	case inner.IsObject():
		object = inner
	case inner.Type == gjson.String:
		e.Message = inner.Str
	}
	if e.Message == "" {
		e.Message = firstText(object.Get("message"), object.Get("message.detail"), object.Get("detail"),
			root.Get("message"), root.Get("errors.0.message"), root.Get("errors.0"))
	}
	e.Type = scalarText(object.Get("type"))
	e.Code = scalarText(object.Get("code"))
	if status := scalarText(object.Get("status")); status != "" && object.Get("code").Type == gjson.Number {
		e.Code = status // Gemini's errors repeat the HTTP status as code, and state the reason as status
	}
	if e.Code == "" {
		e.Code = scalarText(root.Get("errors.0.code"))
	}
	e.Param = scalarText(object.Get("param"))
	// FastAPI lists the invalid fields at one of these places.
	for _, list := range []gjson.Result{object.Get("message.detail"), object.Get("detail"), root.Get("detail")} {
		if e.Param == "" {
			e.Param = location(list.Get("0.loc"))
		}
	}
	e.quota(object.Get("details"))
	if e.Message == "" {
		e.Message = fmt.Sprintf("the upstream answered with status %d and no message", status)
	}
	e.Message = Mask(e.Message, 2000)
	e.Code, e.Type, e.Param = Mask(e.Code, 100), Mask(e.Type, 100), Mask(e.Param, 200)
	return e
}

// quota reads Gemini's error details: the suggested wait, and whether a daily quota is exhausted.
func (e *UpstreamError) quota(details gjson.Result) {
	details.ForEach(func(_, detail gjson.Result) bool {
		if delay := detail.Get("retryDelay"); delay.Type == gjson.String {
			e.RetryDelay = delay.Str
		}
		detail.Get("violations").ForEach(func(_, violation gjson.Result) bool {
			e.Daily = e.Daily || strings.Contains(violation.Get("quotaId").Str, "PerDay")
			return true
		})
		return true
	})
}

// ListsError reports whether a body is a JSON array that begins with an error object, which is how Gemini's chat
// completions API states errors.
func ListsError(body []byte) bool {
	failed := false
	s := jsontext.NewScanner(body)
	if s.Kind() != jsontext.Array {
		return false
	}
	err := s.Array(func(i int) error {
		if i > 0 || s.Kind() != jsontext.Object {
			return s.Skip()
		}
		return s.Object(func(key []byte) error {
			failed = failed || string(key) == "error" && s.Kind() != jsontext.Null
			return s.Skip()
		})
	})
	return failed && err == nil && s.End() == nil
}

// location returns the path of the field in an error of FastAPI (status 422), without the leading "body":
// messages[0].role for ["body","messages",0,"role"].
func location(loc gjson.Result) string {
	var path strings.Builder
	loc.ForEach(func(_, step gjson.Result) bool {
		switch {
		case step.Type == gjson.Number && path.Len() > 0:
			path.WriteString("[" + step.Raw + "]")
		case step.Type == gjson.String && (path.Len() > 0 || step.Str != "body"):
			if path.Len() > 0 {
				path.WriteByte('.')
			}
			path.WriteString(step.Str)
		}
		return path.Len() < 200
	})
	return path.String()
}

// scalarText returns a string or a number as text, and an empty string for any other value.
func scalarText(r gjson.Result) string {
	if r.Type == gjson.String || r.Type == gjson.Number {
		return r.String()
	}
	return ""
}

// firstText returns the first text among the results: a string, the message of an object, or the msg of the first entry
// of a list (FastAPI's 422).
func firstText(results ...gjson.Result) (text string) {
	for _, r := range results {
		switch {
		case r.Type == gjson.String:
			text = r.Str
		case r.IsArray():
			text = firstText(r.Get("0.msg"), r.Get("0.message"), r.Get("0"))
		case r.IsObject():
			text = firstText(r.Get("message"), r.Get("msg"))
		}
		if text != "" {
			break
		}
	}
	return text
}
