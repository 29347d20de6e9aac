package markup

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	tokens "golang.org/x/net/html"

	"github.com/tollgate-gateway/tollgate/internal/text"
)

// A text mentions a member by @name or, for any name, by @"name". Mentions are found in the rendered HTML, outside of
// links and code. In stored HTML, a mention is a link to the member's profile with the class mention. No other link can
// have this class, so the link identifies the mentioned member.

const (
	// MaxMentions limits the members that a text mentions. Further mentions stay text.
	MaxMentions = 10
	longestName = 40 // the maximum number of characters of a member's name
)

// mention matches a mention with the character before it. Group 1 is a name in quotes, and group 2 a name without
// quotes.
var mention = regexp.MustCompile(`(?:^|[^\p{L}\p{M}\p{N}_@/.:#=+-])@(?:"([^"@<>&\n]+)"` +
	`|([\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_.-]*[\p{L}\p{M}\p{N}_])?))`)

// plainName matches names that can be mentioned without quotes.
var plainName = regexp.MustCompile(`^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_.-]*[\p{L}\p{M}\p{N}_])?$`)

// Mention returns the text that mentions a member.
func Mention(name string) string {
	if plainName.MatchString(name) {
		return "@" + name
	}
	return `@"` + name + `"`
}

// Names returns the names that rendered HTML mentions, as folded by text.Fold, without duplicates and at most
// MaxMentions. Members with these names need not exist.
func Names(rendered string) (names []string) {
	seen := make(map[string]bool)
	eachText(rendered, func(raw string) string {
		plain := html.UnescapeString(raw)
		for _, match := range mention.FindAllStringSubmatchIndex(plain, -1) {
			name, _, _ := nameIn(plain, match)
			if key := text.Fold(name); name != "" && !seen[key] && len(names) < MaxMentions {
				seen[key] = true
				names = append(names, key)
			}
		}
		return raw
	})
	return names
}

// Linked returns rendered HTML in which mentions are links to members. ids maps names, as returned by Names, to the ids
// of members. Mentions of other names stay text.
func Linked(rendered string, ids map[string]int64) string {
	if len(ids) == 0 {
		return rendered
	}
	return eachText(rendered, func(raw string) string {
		plain := html.UnescapeString(raw)
		var out strings.Builder
		written := 0 // the offset in plain up to which out has the text
		for _, match := range mention.FindAllStringSubmatchIndex(plain, -1) {
			name, start, end := nameIn(plain, match)
			id := ids[text.Fold(name)]
			if name == "" || id == 0 {
				continue
			}
			out.WriteString(html.EscapeString(plain[written:start]) + mentionStart + strconv.FormatInt(id, 10) + `">@` +
				html.EscapeString(name) + "</a>")
			written = end
		}
		if written == 0 {
			return raw
		}
		return out.String() + html.EscapeString(plain[written:])
	})
}

// nameIn returns the name in a match of the expression mention, and the offsets in the text where the mention starts
// and ends. If no member can have the name, it returns an empty name.
func nameIn(plain string, match []int) (name string, start, end int) {
	if match[2] >= 0 { // group 1: @"name"
		name, start, end = plain[match[2]:match[3]], match[2]-len(`@"`), match[3]+len(`"`)
	} else { // group 2: @name
		name, start, end = plain[match[4]:match[5]], match[4]-len("@"), match[5]
	}
	if utf8.RuneCountInString(name) > longestName {
		return "", start, end
	}
	return name, start, end
}

// mentionStart is the beginning of a mention's link in stored HTML.
const mentionStart = `<a class="mention" href="/members/`

// mentioned matches the beginning of a mention's link. Its group is the id of the member.
var mentioned = regexp.MustCompile(regexp.QuoteMeta(mentionStart) + `([1-9][0-9]{0,17})">`)

// Mentioned returns the ids of the members that stored HTML mentions, in order of occurrence and without duplicates.
func Mentioned(stored string) (ids []int64) {
	if !strings.Contains(stored, mentionStart) {
		return nil
	}
	seen := make(map[int64]bool)
	for _, match := range mentioned.FindAllStringSubmatch(stored, -1) {
		if id, err := strconv.ParseInt(match[1], 10, 64); err == nil && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// eachText replaces each text that contains an @ in sanitised HTML, except in links and code. It calls change with the
// text, whose character entities are still encoded, and writes the result of change.
func eachText(rendered string, change func(raw string) string) string {
	if !strings.Contains(rendered, "@") {
		return rendered
	}
	var out strings.Builder
	skipped := 0 // the number of open elements whose text is not changed
	z := tokens.NewTokenizer(strings.NewReader(rendered))
	for {
		kind := z.Next()
		raw := string(z.Raw()) // before the methods below, which change it
		if kind == tokens.ErrorToken {
			return out.String() + raw
		}
		if kind == tokens.TextToken && skipped == 0 && strings.Contains(raw, "@") {
			raw = change(raw)
		}
		out.WriteString(raw)
		if kind != tokens.StartTagToken && kind != tokens.EndTagToken {
			continue
		}
		switch name, _ := z.TagName(); string(name) {
		case "a", "code", "pre":
			if kind == tokens.StartTagToken {
				skipped++
			} else {
				skipped = max(0, skipped-1)
			}
		}
	}
}
