package markup

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// everybody has the id of some members by their names.
var everybody = map[string]int64{"ada lovelace": 1, "bob": 2, "j.r": 3, "zoë": 4, "_x-y": 5, "a&b": 6}

// TestMentions checks which texts mention a member, and which stay plain text.
func TestMentions(t *testing.T) {
	t.Parallel()
	const bob = `<a class="mention" href="/members/2">@bob</a>`
	for message, want := range map[string]string{
		"@bob":                               bob,
		"hello @Bob, and @bob.":              `hello <a class="mention" href="/members/2">@Bob</a>, and ` + bob + `.`,
		"(@bob)@bob":                         "(" + bob + ")" + bob,
		"**@bob** & co":                      "<strong>" + bob + "</strong> &amp; co",
		`@"Ada Lovelace" too`:                `<a class="mention" href="/members/1">@Ada Lovelace</a> too`,
		"@Ada Lovelace":                      "@Ada Lovelace",
		"@J.R. said":                         `<a class="mention" href="/members/3">@J.R</a>. said`,
		"@zoe\u0308 @zoë":                    "<a class=\"mention\" href=\"/members/4\">@zoe\u0308</a> <a class=\"mention\" href=\"/members/4\">@zoë</a>",
		"@_x-y-":                             `<a class="mention" href="/members/5">@_x-y</a>-`,
		`@"a&b"`:                             `@&#34;a&amp;b&#34;`,
		"@bobby x@bob @@bob /@bob #@bob":     "@bobby x@bob @@bob /@bob #@bob",
		"`@bob`":                             "<code>@bob</code>",
		"[see @bob](https://example.com/)":   `<a href="https://example.com/" rel="nofollow ugc noopener">see @bob</a>`,
		"https://example.com/@bob":           `<a href="https://example.com/@bob" rel="nofollow ugc noopener">https://example.com/@bob</a>`,
		"mail bob@bob.example":               `mail <a href="mailto:bob@bob.example" rel="nofollow ugc noopener">bob@bob.example</a>`,
		`![@bob](https://example.com/x.png)`: `<img src="https://example.com/x.png" alt="@bob">`,
		"@" + strings.Repeat("x", 41):        "@" + strings.Repeat("x", 41),
		`<a class="mention" href="/members/9">x</a>`: "x",
	} {
		html := Render(message)
		ids := make(map[string]int64)
		for _, name := range Names(html) {
			ids[name] = everybody[name]
		}
		if got := strings.TrimSpace(Linked(html, ids)); got != "<p>"+want+"</p>" {
			t.Errorf("%s:\n%s, want\n%s", message, got, want)
		}
	}
	fence := Render("    @bob\n\n```\n@bob\n```\n")
	if names := Names(fence); names != nil || Linked(fence, everybody) != fence {
		t.Errorf("code mentions %v", names)
	}
	many := Render(strings.Repeat("@a1 @a2 @a3 @a4 @a5 @a6 @a7 @a8 @a9 @b1 @b2 @A1 ", 2))
	if names := Names(many); len(names) != MaxMentions || names[9] != "b1" {
		t.Errorf("many mentions are %v", names)
	}
	if ids := Mentioned(Linked(Render(`@bob @"Ada Lovelace" @Bob`), everybody)); !slices.Equal(ids, []int64{2, 1}) {
		t.Errorf("mentioned are %v", ids)
	}
	for name, want := range map[string]string{"bob": "@bob", "Ada Lovelace": `@"Ada Lovelace"`, "J.R.": `@"J.R."`, "_x-y": "@_x-y"} {
		if got := Mention(name); got != want {
			t.Errorf("%s is mentioned by %s", name, got)
		}
	}
}

// allowed matches the tags that rendered texts have, and nothing else in angle brackets.
var allowed = regexp.MustCompile(`^</?(?:p|br|hr|h[1-6]|blockquote|pre|code|em|strong|del|[uo]l|li|table|t(?:head|body|r|h|d)|input|img|a)(?: [a-z]+="[^"<>]*")*/?>$`)

// FuzzMentions checks that the links of mentions leave the rest of a text as it is, and add no other tag.
func FuzzMentions(f *testing.F) {
	for _, line := range append(testenv.Scripts(), `@"Ada Lovelace" **@bob**`, "`@bob` [@bob](https://a.example) <@bob>", `@"<script>alert(1)</script>"`, `@"a&b" @"&lt;b&gt;"`) {
		f.Add(line)
		f.Add(`@"` + line + `"`)
	}
	tag := regexp.MustCompile(`<[^>]*>?`)
	link := regexp.MustCompile(`<a class="mention" href="/members/[0-9]+">(@[^<>"]*)</a>`)
	f.Fuzz(func(t *testing.T, message string) {
		html := Render(message)
		ids := maps.Clone(everybody)
		for i, name := range Names(html) {
			ids[name] = int64(i + 10) // everybody who is named exists
		}
		linked := Linked(html, ids)
		for _, found := range tag.FindAllString(linked, -1) {
			if !allowed.MatchString(found) {
				t.Errorf("%q has the tag %q", message, found)
			}
		}
		if testenv.Executable(linked) {
			t.Errorf("%q renders %q", message, linked)
		}
		// Without the links the text is the same as before, apart from how quotes are written.
		bare := strings.NewReplacer(`&#34;`, "", `"`, "", "&#39;", "'", "\r", "", "&#13;", "")
		if got, want := bare.Replace(link.ReplaceAllString(linked, "$1")), bare.Replace(html); got != want {
			t.Errorf("%q: the text becomes %q, was %q", message, got, want)
		}
		if n := len(Mentioned(linked)); n > MaxMentions+len(everybody) {
			t.Errorf("%d are mentioned", n)
		}
	})
}
