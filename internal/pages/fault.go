package pages

import (
	"bytes"
	"cmp"
	"errors"
	"html/template"
	"maps"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/look"
)

// Fault is the Data of the templates error.html and bare.html.
type Fault struct {
	Status  int
	Heading string
	Message string
	Wait    time.Duration // after which the reader may try again; 0 if unknown
}

// headings are the headings of error pages by status.
var headings = map[int]string{
	http.StatusBadRequest:            "This request cannot be served",
	http.StatusForbidden:             "Not allowed",
	http.StatusNotFound:              "Page not found",
	http.StatusRequestTimeout:        "Request timed out",
	http.StatusConflict:              "No longer possible",
	http.StatusGone:                  "This link has expired",
	http.StatusRequestEntityTooLarge: "Too large",
	http.StatusUnprocessableEntity:   "This request cannot be served",
	http.StatusTooManyRequests:       "Too many requests",
	http.StatusInternalServerError:   "Something went wrong",
	http.StatusServiceUnavailable:    "Not available right now",
}

// faultOf returns the data of an error page in a language.
func faultOf(e *apierror.Error, language *locale.Language) Fault {
	return Fault{
		Status: e.Status, Heading: language.Translate(cmp.Or(headings[e.Status], headings[http.StatusInternalServerError])),
		Message: sentence(language.Message(e.Message)), Wait: e.RetryAfter,
	}
}

// fail answers with an error page.
func (c *Call) fail(err error) {
	e, ok := apierror.From(err)
	if !ok {
		if c.R.Context().Err() != nil {
			return // the client is gone
		}
		c.site.logger.Error("page failed", zap.String("path", c.R.URL.Path), zap.Error(err))
		e = apierror.New(http.StatusInternalServerError, "internal",
			"Something went wrong here. Try again; if it stays so, tell the administrator.")
	}
	if e.Cause != nil && e.Status >= http.StatusInternalServerError {
		c.site.logger.Warn("page not available", zap.String("path", c.R.URL.Path), zap.Error(errors.Join(e, e.Cause)))
	}
	if e.RetryAfter > 0 {
		c.W.Header().Set("Retry-After", seconds(e.RetryAfter))
	}
	if c.begun { // otherwise the error page has no layout
		fault := faultOf(e, c.language)
		err := c.show(e.Status, "error", fault.Heading, fault, nil)
		if err == nil {
			return
		}
		c.site.logger.Error("error page failed", zap.Error(err))
	}
	header, body := c.site.look.errorPage(c.language, c.site.mount, c.site.bar(c.R), e)
	if c.site.closed {
		header.Del("Referrer-Policy") // a stricter one is set
	}
	maps.Copy(c.W.Header(), header)
	c.W.WriteHeader(e.Status)
	_, _ = c.W.Write(body) //nolint:gosec // html/template has written it; the client may be gone
}

// ErrorPage returns the header and the body of an error page for a request that the service does not see, because it
// was refused before or the service cannot serve it.
func (l *Look) ErrorPage(mount string, e *apierror.Error) (http.Header, []byte) {
	return l.errorPage(l.languages.Choose(), mount, look.Bar{}, e)
}

// errorPage works like ErrorPage, in a language and with a bar.
func (l *Look) errorPage(
	language *locale.Language, mount string, bar look.Bar, e *apierror.Error,
) (http.Header, []byte) {
	var out bytes.Buffer
	t, err := l.bareIn(language)
	if err == nil {
		err = t.ExecuteTemplate(&out, "bare", l.bareOf(language, mount, bar, e))
	}
	if err != nil {
		panic(err) // a test of each service runs it
	}
	return http.Header{
		"Content-Type": {"text/html; charset=utf-8"}, "Content-Security-Policy": {policy("", "", "")},
		"X-Content-Type-Options": {"nosniff"},
		"Referrer-Policy":        {"strict-origin"}, // the URL may hold a secret
	}, out.Bytes()
}

// bare is the data of the template "bare".
type bare struct {
	Fault
	Mount string
	Links template.HTML
	Top   look.Top
}

// bareOf returns the data of the template "bare" for an error.
func (l *Look) bareOf(language *locale.Language, mount string, bar look.Bar, e *apierror.Error) bare {
	top := look.Top{
		Bar: bar, Home: mount + "/", Translate: func(english string) string { return language.Translate(english) },
		At: func(name string) string { return l.address(mount, bar.Brand, name) },
	}
	return bare{faultOf(e, language), mount, l.links(mount, bar.Brand), top}
}
