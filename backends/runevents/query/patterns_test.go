package query

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

var patternFaults = map[string]string{
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

// patternMatches are patterns, texts that match and texts that do not.
var patternMatches = []struct {
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
	for _, c := range patternMatches {
		p, err := compilePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		m, err := p.compile()
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
	for source, want := range patternFaults {
		if _, err := compilePattern(source); err == nil || err.Error() != "ERROR: invalid regular expression: "+want {
			t.Errorf("%s: %v, want %s", source, err, want)
		}
	}
	for _, source := range []string{strings.Repeat("(", 500) + strings.Repeat(")", 500), "((a{255}){255}){255}", strings.Repeat("()", 200)} {
		if _, err := compilePattern(source); err == nil || !strings.Contains(err.Error(), "too complex") {
			t.Errorf("%.20s: %v", source, err)
		}
	}
}

// TestPatternsAsPostgres holds the translation against the original.
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
	for _, c := range patternMatches {
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
	for source, want := range patternFaults {
		if _, err := ask("x", source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: PostgreSQL says %v, want %s", source, err, want)
		}
	}
}

// TestTemplatesAsPostgres holds to_string against to_char of PostgreSQL, in which the
// time zone is UTC: templates made of patterns with all that may stand around them.
func TestTemplatesAsPostgres(t *testing.T) {
	t.Parallel()
	db, err := store.NewPostgres(store.PostgresOptions{DSN: testenv.Postgres(t).DSN()}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.Start(t.Context())
	dates := []string{
		"2026-03-20T10:01:02.123Z", "1969-12-31T23:59:59.999Z", "2000-02-29T00:00:00.000Z", "0001-01-01T12:00:00.000Z", "2021-01-03T13:13:13.013Z",
		"1900-11-11T11:11:11.111Z", "0099-12-22T22:22:22.222Z", "9999-12-31T23:00:00.001Z", "2024-12-30T01:02:03.400Z",
	}
	moments := make([]int64, 0, len(dates)+3)
	for _, year := range []int{0, -43, -100} {
		moments = append(moments, time.Date(year, 3, 15, 18, 0, 0, 0, time.UTC).UnixMilli())
	}
	for _, s := range dates {
		ms, ok := parseTime(s)
		if !ok {
			t.Fatal(s)
		}
		moments = append(moments, ms)
	}
	templates := []string{
		`abc`, `mOnth`, `Yyyy DaY`, `x\y \"a a"b\"c"`, `FMFMDD`, `FMTMMonth|`, `TMFMMonth|`, `TMDD THDD`, `DD""TH24`, `é "é" 5%`, `FMa TMa`, `ThDDTh`, `"` + `"`,
	}
	for _, p := range timePatterns {
		for _, format := range []string{"%s|", "FM%s|", "fm%s|", "%sTH|", "FM%sth|", "tm%s|", "%sSP|", "-%s%s"} {
			templates = append(templates, strings.ReplaceAll(format, "%s", p.name))
		}
		if p.named {
			templates = append(templates, "TM"+p.name+"|")
		}
	}
	for _, template := range templates {
		err := db.Read(t.Context(), func(c store.Conn) error {
			ctx := c.Context()
			tx, err := c.Pool().BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if _, err := tx.ExecContext(ctx, "SET LOCAL timezone = 'UTC'"); err != nil {
				return err
			}
			for _, ms := range moments {
				var want, got string
				at := postgresTime("$1::bigint")
				if err := tx.QueryRowContext(ctx, "SELECT to_char(("+at+") AT TIME ZONE 'UTC', $2), to_char("+at+", $3)", ms, template, forPostgres(template)).Scan(&want, &got); err != nil {
					return err
				}
				if here := formatTime(ms, template); here != want || got != want {
					t.Errorf("%s of %d: %q, by SQL %q, want %q", template, ms, here, got, want)
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", template, err)
		}
	}
}

func TestSlowPatternEnds(t *testing.T) {
	t.Parallel()
	p, err := compilePattern(`^(a*)*\1*(?=b)(a*)*(a*)*(a*)*$`)
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.compile()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.MatchString(strings.Repeat("a", 200) + "b" + strings.Repeat("a", 3000) + "c"); !errors.Is(err, errMatchTimeout) {
		t.Errorf("%v, want %v", err, errMatchTimeout)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	const nine = "2026-03-04T09:26:00.000Z"
	for s, want := range map[string]string{
		"2026": "2026-01-01T00:00:00.000Z", "2026-03": "2026-03-01T00:00:00.000Z", "2026-03-04": "2026-03-04T00:00:00.000Z", "2026-3-4": "2026-03-04T00:00:00.000Z",
		"20260304": "2026-03-04T00:00:00.000Z", "2026-03-04T09": "2026-03-04T09:00:00.000Z", "2026-03-04T09:26": nine, "2026-03-04T09:26:00": nine,
		"2026-03-04T09:26:00.1239": "2026-03-04T09:26:00.123Z", "2026-03-04t09:26:00z": nine, "2026-03-04T11:26:00+02:00": nine, "2026-03-04T11:26:00+0200": nine,
		"2026-03-04T11:26:00+02": nine, "2026-03-04T05:56:00-03:30": nine, "2026-03-04 09:26:00": nine, "20260304T092600Z": nine, "20260304T092600.000Z": nine,
		"2026-W10-3": "2026-03-04T00:00:00.000Z", "2026-063": "2026-03-04T00:00:00.000Z", "Wed, 04 Mar 2026 09:26:00 +0000": nine, "10:00": "1970-01-01T10:00:00.000Z",
		"1772616360": "", "Wed, 04 Mar 2026 09:26:00 GMT": "", "2026-02-30": "", "2026-03-04T24:00:00": "", "now": "", "": "", " ": "", "2026-W60-1": "", "2025-366": "",
		"2026-03-04T09:26:60": "", "2026-13-01": "", "2026-03-04T09:26:00+2": "", "2026-03-04T": "", "x2026": "", "2026-03-04T09:26:00.": "",
	} {
		ms, ok := parseTime(s)
		if got := string(appendTime(nil, ms)); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %s %t, want %s", s, got, ok, want)
		}
	}
}

func TestCanonicalJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		` { "b" : 1.0, "a" : [ 1e2, -0, 2.50 ] , "b" : "\u00fc\ud834\udd1e\u0000\/" } `: "{\"a\":[100,0,2.5],\"b\":\"ü𝄞\uFFFD/\"}",
		`"\ud834"`: "\"\uFFFD\"", `12345678901234567890`: "12345678901234567890", `1e400`: "1e400", `null`: "null", `"\u0001\n"`: `"\u0001\n"`, `0.1`: "0.1",
	} {
		got, err := CanonicalJSON([]byte(in))
		if err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", in, got, err, want)
		}
		if again, err := CanonicalJSON([]byte(got)); err != nil || again != got {
			t.Errorf("%s becomes %s, %v", got, again, err)
		}
	}
	for _, in := range []string{"", "{", "1 2", "x"} {
		if got, err := CanonicalJSON([]byte(in)); err == nil {
			t.Errorf("%s: %s, want an error", in, got)
		}
	}
}

// FuzzPattern holds that a pattern which is accepted compiles or is refused as
// too complex, and never panics.
func FuzzPattern(f *testing.F) {
	for _, c := range patternMatches {
		f.Add(c.pattern)
	}
	for source := range patternFaults {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		p, err := compilePattern(source)
		if err != nil {
			return
		}
		m, err := p.compile()
		if err != nil {
			if !strings.HasSuffix(err.Error(), "too complex") {
				t.Error(err)
			}
			return
		}
		if _, err := m.MatchString("some text\n1"); err != nil && !errors.Is(err, errMatchTimeout) {
			t.Error(err)
		}
	})
}

// FuzzJSON holds that whatever passes the checks can be compiled, and that all
// of it is parameters.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`["=","certname","x"]`, `["extract",[["function","count"],"status"],["and",["~","file","a"],["null?","line",true]],["group_by","status"]]`,
		`["in",["certname"],["from","reports",["extract","certname",["=","type","any"]],["order_by",["certname"]],["limit",1]]]`, `["from","events",["not",["subquery","nodes",[]]]]`,
		`[">","timestamp",5]`, `["=",["node","active"],true]`, `["in","new_value",["array",[null,{"a":[]}]]]`, `["subquery","resources",["and",["=",["parameter","a"],[]],[">","line",5]]]`, `{"a":1}`, `"\ud800"`,
	} {
		f.Add(s)
	}
	all := entities(true)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseJSON(text, queryBounds)
		if err != nil || v == nil {
			return
		}
		canonical := string(v.appendCanonical(nil))
		again, err := parseJSON(canonical, bounds{depth: maxDepth, values: 1 << 20})
		if err != nil || string(again.appendCanonical(nil)) != canonical {
			t.Fatalf("%s is not canonical: %v", canonical, err)
		}
		for _, name := range []string{"events", "reports", "nodes"} {
			c := &checker{entities: all}
			if q, err := c.root(all[name], v); err == nil {
				compileBoth(t, q)
			}
		}
		c := &checker{entities: all}
		if q, err := c.outermost(v); err == nil {
			compileBoth(t, q)
		}
	})
}

func compileBoth(t *testing.T, q *query) {
	t.Helper()
	if q.entity.absent() {
		return
	}
	for _, d := range []store.Dialect{store.SQLite, store.Postgres} {
		st := (&compiler{dialect: d}).rows(q)
		st.release()
		if strings.Count(st.sql, "(") != strings.Count(st.sql, ")") {
			t.Errorf("unbalanced: %s", st.sql)
		}
	}
}

// FuzzPQL holds that the parser ends, and that what it accepts can be checked.
func FuzzPQL(f *testing.F) {
	for _, s := range []string{
		`events[certname, status]{ certname = 'x' }`, `events[count(), to_string(timestamp, "YYYY")]{ group by status }`, `events{ !(a ~ "b" or c in [1,'2']) and reports { x is not null } order by a desc, b limit 5 offset 6 }`,
		`events { [a,b] in reports[c,d]{ e >= 5.5e3 } }`, `facts[name, count()]{ value ~> ["a", 5] group by name order by name }`, `inventory[facts."a b".c]{ facts.match("x")[1] = 5 and trusted."a"b"='c' }`, `x{`, `'`, `events{a='\''}`,
	} {
		f.Add(s)
	}
	all := entities(false)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parsePQL(text)
		if err != nil {
			if asError(err) == nil {
				t.Errorf("%v is no refusal", err)
			}
			return
		}
		c := &checker{entities: all}
		if q, err := c.outermost(v); err == nil {
			compileBoth(t, q)
		} else if asError(err) == nil {
			t.Errorf("%v is no refusal", err)
		}
	})
}
