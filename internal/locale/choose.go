package locale

import (
	"context"
	"strings"

	"golang.org/x/text/language"
)

const (
	// maxWish is the limit for a text that states the languages of a reader, in bytes. The rest is ignored.
	maxWish = 256
	// maxTags limits how many languages of it are read.
	maxTags = 16
)

// Choose returns the language for a reader. Each wish is a text in the form of the header Accept-Language (RFC 9110,
// section 12.5.4), and earlier ones take precedence: the first wish that names a language which there is decides. A
// wish that is empty or malformed is ignored. Without a match, Choose returns the default language.
func (s *Languages) Choose(wishes ...string) *Language {
	if s == nil || len(s.list) == 0 {
		return nil
	}
	if len(s.list) == 1 {
		return s.list[0]
	}
	for _, wish := range wishes {
		if l := s.Match(wish); l != nil {
			return l
		}
	}
	return s.list[0]
}

// Match returns the language that one wish of Choose names, or nil if there is none.
func (s *Languages) Match(wish string) *Language {
	tags := parse(wish)
	if s == nil || len(tags) == 0 {
		return nil
	}
	if _, at, confidence := s.matcher.Match(tags...); confidence > language.No {
		return s.list[at]
	}
	return nil
}

// Wish returns a list of language tags that are separated by spaces, such as the parameter ui_locales of OpenID Connect,
// in the form that Choose takes.
func Wish(tags string) string { return strings.Join(strings.Fields(cut(tags)), ",") }

// parse returns the languages of a wish, the preferred ones first.
func parse(wish string) []language.Tag {
	if wish = cut(wish); wish == "" {
		return nil
	}
	parts := strings.SplitN(wish, ",", maxTags+1)
	tags, _, err := language.ParseAcceptLanguage(strings.Join(parts[:min(len(parts), maxTags)], ","))
	if err != nil {
		return nil
	}
	return tags
}

// cut shortens a wish to its limit, at the end of a tag.
func cut(wish string) string {
	if len(wish) <= maxWish {
		return wish
	}
	wish = wish[:maxWish]
	return wish[:max(strings.LastIndexAny(wish, ", "), 0)]
}

type contextKey struct{}

// NewContext returns a context that carries the language of whoever sent the request, for what is composed later.
func NewContext(ctx context.Context, l *Language) context.Context {
	return context.WithValue(ctx, contextKey{}, l)
}

// FromContext returns the language that a context carries. Default: nil, which is English.
func FromContext(ctx context.Context) *Language {
	l, _ := ctx.Value(contextKey{}).(*Language)
	return l
}
