package pattern

import (
	"errors"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

var faults = map[string]string{
	`(`: "parentheses () not balanced", `)`: "parentheses () not balanced", `a(b`: "parentheses () not balanced",
	`[a`: "brackets [] not balanced", `[]`: "brackets [] not balanced", `[[:alpha:`: "brackets [] not balanced",
	`*a`: "quantifier operand invalid", `a**`: "quantifier operand invalid", `+`: "quantifier operand invalid", `a|*b`: "quantifier operand invalid",
	`^*`: "quantifier operand invalid", `(*a)`: "quantifier operand invalid", `a{2}{3}`: "quantifier operand invalid", `***`: "quantifier operand invalid",
	`a(?z)`: "quantifier operand invalid", `(?=a)*`: "quantifier operand invalid", `(?<n>a)`: "quantifier operand invalid", `{1}`: "quantifier operand invalid",
	`a{1`: "braces {} not balanced", `a{1,`: "braces {} not balanced",
	`\`: `invalid escape \ sequence`, `a\q`: `invalid escape \ sequence`, `\u12`: `invalid escape \ sequence`, `[\m]`: `invalid escape \ sequence`,
	`(?P<n>a)`: "invalid embedded option", `(?z)`: "invalid embedded option", `(?i`: "invalid embedded option",
	`[b-a]`: "invalid character range", `[a-[:alpha:]]`: "invalid character range", `[a-c-e]`: "invalid character range",
	`a{256}`: "invalid repetition count(s)", `a{2,1}`: "invalid repetition count(s)", `a{1x}`: "invalid repetition count(s)", `a{1,256}`: "invalid repetition count(s)",
	`\U7fffffff`: `invalid escape \ sequence`, `\xfffffffff`: `invalid escape \ sequence`, `[[.ch.]]`: "invalid collating element", `[[=nope=]]`: "invalid collating element",
	`[a-[.NUL.]]`: "invalid character range", `[[:nope:]]`: "invalid character class", `[[.nope.]]`: "invalid collating element",
	`\1`: "invalid backreference number", `(a)\2`: "invalid backreference number", `(a\1)`: "invalid backreference number",
}

// matches are patterns, texts that match and texts that do not.
var matches = []struct {
	pattern string
	yes, no []string
}{
	{`abc`, []string{"abc", "xabcx"}, []string{"ab", "ABC"}},
	{`^a.c$`, []string{"abc", "a\nc"}, []string{"abc\n", "xabc", "x\nabc"}},
	{`(?n)^a.c$`, []string{"abc", "x\nabc\ny"}, []string{"a\nc"}},
	{`(?w)^a.c$`, []string{"x\nabc\ny", "a\nc"}, []string{"xabc"}},
	{`(?p)^a.c$`, []string{"abc"}, []string{"a\nc", "x\nabc"}},
	{`(?i)ÄBc`, []string{"äbC"}, []string{"abc"}},
	{`***=a.c(`, []string{"xa.c("}, []string{"abc("}},
	{`***:a.c`, []string{"abc"}, nil},
	{`***:(?i)A`, []string{"a"}, nil},
	{`(?q)a.c`, []string{"a.c"}, []string{"abc"}},
	{`(?x) a b # c`, []string{"ab"}, []string{"a b"}},
	{`a(?#no)b(?#no`, []string{"ab"}, nil},
	{`\mword\M`, []string{"a word.", "word"}, []string{"words", "sword"}},
	{`\yword\y`, []string{"a word."}, []string{"words"}},
	{`\Bb`, []string{`\b`}, []string{"b"}},
	{`\Ywo`, []string{"swo"}, []string{"wo"}},
	{`[[:<:]]w[[:>:]]`, []string{"a w."}, []string{"wa"}},
	{`\bnginx\b`, []string{"\bnginx\b"}, []string{"nginx"}},
	{`\Aa\Z`, []string{"a"}, []string{"ab", "a\n"}},
	{`n\w+code`, []string{"nïcode"}, []string{"n-code"}},
	{`^\d\D\s\S\w\W$`, []string{"1a b_-"}, []string{"aa b_-"}},
	{`^[\d_]+$`, []string{"1_2"}, []string{"a"}},
	{`^[\W]$`, []string{"-", "☃", " "}, []string{"a", "ü", "_", "1"}},
	{`^[\S]$`, []string{"-", "☃", "a"}, []string{" ", "\n"}},
	{`^[^\D]$`, []string{"1"}, []string{"a"}},
	{`^[[:alpha:]]+$`, []string{"aü"}, []string{"a1"}},
	{`^[[:upper:]][[:lower:]]$`, []string{"Üb"}, []string{"üB"}},
	{`^[]a]$`, []string{"]", "a"}, []string{"b"}},
	{`^[^]a]$`, []string{"b", "\n"}, []string{"]"}},
	{`(?n)^[^a]$`, []string{"b"}, []string{"\n"}},
	{`^[a-]$`, []string{"-"}, []string{"b"}},
	{`^[-a]$`, []string{"-"}, []string{"b"}},
	{`^[[.a.]-c]$`, []string{"b"}, []string{"d"}},
	{`^[[=a=]]$`, []string{"a"}, []string{"b"}},
	{`^[Ä-Ü]$`, []string{"Ö"}, []string{"O"}},
	{`^[\]\-\\]$`, []string{"]", "-", `\`}, []string{"a"}},
	{`^(a)(b)\2\1$`, []string{"abba"}, []string{"abab"}},
	{`(.)\1`, []string{"hello"}, []string{"helo"}},
	{`foo(?=bar)`, []string{"foobar"}, []string{"foobaz"}},
	{`foo(?!bar)`, []string{"foobaz"}, []string{"foobar"}},
	{`(?<=foo)bar`, []string{"foobar"}, []string{"fobar"}},
	{`(?<!foo)bar`, []string{"bar"}, []string{"foobar"}},
	{`^a{2}$`, []string{"aa"}, []string{"a", "aaa"}},
	{`^a{2,}?$`, []string{"aaa"}, []string{"a"}},
	{`^a{1,2}$`, []string{"a", "aa"}, []string{"aaa"}},
	{`a{b`, []string{"a{b"}, []string{"ab"}},
	{`^a{,2}$`, []string{"a{,2}"}, nil},
	{`^(?:a|b)*?c+?$`, []string{"abcc"}, []string{"d"}},
	{`a||b`, []string{"x"}, nil},
	{`()`, []string{""}, nil},
	{`^\u00fc\x41\101\t$`, []string{"üAA\t"}, nil},
	{`\U0001d11e`, []string{"𝄞"}, nil},
	{"^\\x4\x11$", []string{"\x04\x11"}, []string{"A"}}, // a control character is not a digit
	{`^.$`, []string{"𝄞", "ü"}, []string{"ab"}},
	{`\.\*\+\?\(\)\[\]\{\}\|\^\$\/\-`, []string{".*+?()[]{}|^$/-"}, nil},
	{`^$`, []string{""}, []string{"a"}},
	{`[^\x00-\x7f]`, []string{"xé"}, []string{"x"}},
	{`(?n)^[^\x00-\x09]$`, []string{"a"}, []string{"\t", "\n"}},
	{`a\0|\x0|\c@|\u0000`, nil, []string{"a", "a0"}},
	{`^[\0a]\08|b$`, []string{"b"}, []string{"a8"}},
	{`\ud800`, nil, []string{"\ufffd"}},
	{`^[\ud800-\udfff]*$`, []string{""}, []string{"a"}},
	{`^[^\ud800]$`, []string{"a", "\n"}, []string{""}},
	{`(?p)^[^\ud800]$`, []string{"a"}, []string{"\n"}},
	{`^[a-\ud800]$`, []string{"é", "b"}, []string{"A", "𝄞"}},
	{`^[\udfff-\U7ffffffe]$`, []string{"𝄞", "\uffee"}, []string{"a"}},
	{`^[\U00110000]|\x110000$`, nil, []string{"a"}},
	{`^[[.space.][.hyphen.]]$`, []string{" ", "-"}, []string{"s"}},
	{`^[[.NUL.]-[.tilde.]]$`, []string{"a", "~"}, []string{"ä"}},
	{`^[[=left-brace=]x]$`, []string{"{", "x"}, []string{"l"}},
	{`^[[.].]]$`, []string{"]"}, []string{"["}},
	{`^[[.-.]a]$`, []string{"-", "a"}, []string{"b"}},
	{`^[[.ä.]-ü]$`, []string{"ö"}, []string{"o"}},
	{`(\x1)?\10`, []string{"\x08"}, []string{"0"}},
	{`a-z_ #&~"'<>=!%,;:@` + "`", []string{`a-z_ #&~"'<>=!%,;:@` + "`"}, nil},
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range matches {
		p, err := Compile(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		m, err := p.Matcher()
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for _, s := range append(c.yes, c.no...) {
			want := len(c.yes) > 0 && strings.Contains("\x00"+strings.Join(c.yes, "\x00")+"\x00", "\x00"+s+"\x00")
			if got, err := m.MatchString(s); got != want || err != nil {
				t.Errorf("%s on %q: %t, %v", c.pattern, s, got, err)
			}
		}
	}
	for source, want := range faults {
		if _, err := Compile(source); err == nil || err.Error() != "ERROR: invalid regular expression: "+want {
			t.Errorf("%s: %v, want %s", source, err, want)
		}
	}
	for _, source := range []string{strings.Repeat("(", 500) + strings.Repeat(")", 500), "((a{255}){255}){255}", strings.Repeat("()", 200)} {
		if _, err := Compile(source); err == nil || !strings.Contains(err.Error(), "too complex") {
			t.Errorf("%.20s: %v", source, err)
		}
	}
}

// TestPatternsAsPostgres compares the translation with PostgreSQL.
func TestPatternsAsPostgres(t *testing.T) {
	t.Parallel()
	db, err := store.NewPostgres(store.PostgresOptions{DSN: testenv.Postgres(t).DSN()}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	testenv.Open(t, db)
	ask := func(text, pattern string) (matched bool, err error) {
		err = db.Read(t.Context(), func(c store.Conn) error {
			return c.Row(`SELECT $1::text COLLATE "und-x-icu" ~ $2::text`, text, pattern).Scan(&matched)
		})
		return matched, err
	}
	for _, c := range matches {
		for i, s := range append(c.yes, c.no...) {
			if got, err := ask(s, c.pattern); err != nil || got != (i < len(c.yes)) {
				t.Errorf("%s on %q: PostgreSQL says %t, %v", c.pattern, s, got, err)
			}
		}
	}
	for name, r := range collatingNames {
		if r == 0 { // which no text has
			continue
		}
		if got, err := ask(string(r), "^[[."+name+".]]$"); err != nil || !got {
			t.Errorf("%s: PostgreSQL says %t, %v", name, got, err)
		}
	}
	for source, want := range faults {
		if _, err := ask("x", source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: PostgreSQL says %v, want %s", source, err, want)
		}
	}
}

func TestSlowPatternTimesOut(t *testing.T) {
	t.Parallel()
	p, err := Compile(`^(a*)*\1*(?=b)(a*)*(a*)*(a*)*$`)
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Matcher()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.MatchString(strings.Repeat("a", 200) + "b" + strings.Repeat("a", 3000) + "c"); !errors.Is(err, ErrTimeout) {
		t.Errorf("%v, want %v", err, ErrTimeout)
	}
}

// FuzzPattern checks that an accepted pattern compiles or is refused as too complex, and that nothing panics.
func FuzzPattern(f *testing.F) {
	for _, c := range matches {
		f.Add(c.pattern)
	}
	for source := range faults {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		p, err := Compile(source)
		if err != nil {
			return
		}
		m, err := p.Matcher()
		if err != nil {
			if !strings.HasSuffix(err.Error(), "too complex") {
				t.Error(err)
			}
			return
		}
		if _, err := m.MatchString("some text\n1"); err != nil && !errors.Is(err, ErrTimeout) {
			t.Error(err)
		}
	})
}
