package locale

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

const (
	// maxWish limits the text that states a reader's languages, in bytes. The rest is ignored.
	maxWish = 256
	// maxTags limits the number of languages that are read from that text.
	maxTags = 16
)

// Choose returns the language for a reader. Each wish is a text in the form of the header Accept-Language (RFC 9110,
// section 12.5.4). The first wish that names an available language decides; malformed parts of a wish are ignored.
// Without a match, Choose returns the default language.
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

// Match returns the available language that fits a wish best (see Choose), or nil if none fits.
func (s *Languages) Match(wish string) *Language {
	tags := parse(wish)
	if s == nil || len(tags) == 0 {
		return nil
	}
	if _, index, confidence := s.matcher.Match(tags...); confidence > language.No {
		return s.list[index]
	}
	return nil
}

// Wish converts a list of language tags separated by spaces, such as the parameter ui_locales of OpenID Connect, to the
// form that Choose takes.
func Wish(tags string) string { return strings.Join(strings.Fields(cut(tags)), ",") }

// parse returns the languages of a wish, in order of preference.
func parse(wish string) []language.Tag {
	if wish = cut(wish); wish == "" {
		return nil
	}
	type weighted struct {
		tag    language.Tag
		weight float32
	}
	var list []weighted
	for i, part := range strings.SplitN(wish, ",", maxTags+1) {
		if i == maxTags {
			break // this part is the whole remaining text
		}
		tags, weights, err := language.ParseAcceptLanguage(part)
		if err != nil {
			continue // an unknown language does not affect the others
		}
		for j, tag := range tags {
			list = append(list, weighted{tag, weights[j]})
		}
	}
	slices.SortStableFunc(list, func(a, b weighted) int { return cmp.Compare(b.weight, a.weight) })
	tags := make([]language.Tag, len(list))
	for i := range list {
		tags[i] = list[i].tag
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

// contextKey is the key of the language in a context.
type contextKey struct{}

// NewContext returns a context that carries the language of the request's sender, for texts that are composed later.
func NewContext(ctx context.Context, l *Language) context.Context {
	return context.WithValue(ctx, contextKey{}, l)
}

// FromContext returns the language in a context. It returns nil, which stands for English, if there is none.
func FromContext(ctx context.Context) *Language {
	l, _ := ctx.Value(contextKey{}).(*Language)
	return l
}
