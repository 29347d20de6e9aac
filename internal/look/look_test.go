package look

import (
	"bytes"
	"html/template"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// colours returns the colours of the sheet for light or dark mode, with the soft shades of the accent computed.
func colours(t *testing.T, inDark bool) map[string]colour {
	t.Helper()
	sheet := string(Files()[Sheet])
	start := strings.Index(sheet, "@media (prefers-color-scheme: dark)")
	if start < 0 {
		t.Fatal("the sheet has no dark colours")
	}
	parts := []string{sheet[:start]}
	if inDark {
		parts = append(parts, sheet[start:])
	}
	found := make(map[string]colour)
	for _, part := range parts {
		for _, match := range regexp.MustCompile(`(?m)^\s+--([a-z0-9-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(part, -1) {
			c, err := parseColour(match[2])
			if err != nil {
				t.Fatal(err)
			}
			found[match[1]] = c
		}
	}
	if !strings.Contains(sheet, "--accent-soft: color-mix(in srgb, var(--accent) 12%, var(--surface));") {
		t.Fatal("the soft shade of the accent in the sheet differs from softShare")
	}
	found["accent-soft"] = found["surface"].mix(found["accent"], softShare)
	return found
}

// TestContrast checks that text is readable on its background, and that controls stand out from their surroundings.
func TestContrast(t *testing.T) {
	t.Parallel()
	for _, inDark := range []bool{false, true} {
		c := colours(t, inDark)
		against := map[string][]string{"on-accent": {"accent"}, "ground": {"text"}}
		for _, text := range []string{"text", "muted", "accent", "good", "warn", "bad"} {
			against[text] = []string{"ground", "surface", "sunk"}
		}
		for _, tone := range []string{"accent", "good", "warn", "bad"} {
			against[tone] = append(against[tone], tone+"-soft")
			against["text"] = append(against["text"], tone+"-soft")
		}
		for text, grounds := range against {
			for _, ground := range grounds {
				if has := contrast(c[text], c[ground]); has < minContrast {
					t.Errorf("dark %t: %s on %s has a contrast of %.2f", inDark, text, ground, has)
				}
			}
		}
		for _, line := range []string{"edge", "series-1", "series-2", "series-4"} {
			if has := contrast(c[line], c["surface"]); has < 3 {
				t.Errorf("dark %t: %s has a contrast of %.2f", inDark, line, has)
			}
		}
		grounds := light
		if inDark {
			grounds = dark
		}
		if (theme{c["ground"], c["surface"], c["sunk"]}) != grounds {
			t.Errorf("dark %t: the backgrounds for checking accents differ from those of the sheet", inDark)
		}
	}
}

// TestSheet checks that the sheet loads nothing, and that each colour has a value for dark mode.
func TestSheet(t *testing.T) {
	t.Parallel()
	sheet := string(Files()[Sheet])
	if strings.Contains(sheet, "url(") || strings.Contains(sheet, "@import") {
		t.Error("the sheet loads something")
	}
	light, dark, _ := strings.Cut(sheet, "@media (prefers-color-scheme: dark)")
	dark, _, _ = strings.Cut(dark, "@media")
	names := regexp.MustCompile(`(?m)^\s+(--[a-z0-9-]+): #`).FindAllStringSubmatch(light, -1)
	if len(names) < 15 {
		t.Errorf("%d colours", len(names))
	}
	for _, name := range names {
		if !strings.Contains(dark, "\n    "+name[1]+": #") {
			t.Errorf("%s has no dark colour", name[1])
		}
	}
	for _, use := range regexp.MustCompile(`var\((--[a-z0-9-]+)`).FindAllStringSubmatch(sheet, -1) {
		if !strings.Contains(light, use[1]+":") {
			t.Errorf("%s is used and nowhere defined", use[1])
		}
	}
	if !bytes.Contains(Files()[Icons], []byte(`id="services"`)) {
		t.Error("there is no icon for the menu")
	}
}

const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><script>alert(1)</script></svg>`

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, good := range []Brand{
		{},
		{Name: "Acme", Accent: "#0b6159", AccentDark: "#62cdbc", Footer: "By us", CSS: []byte("p {}"), Logo: []byte(picture)},
		{Accent: "#804"},
	} {
		if err := good.Validate(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for tells, bad := range map[string]Brand{
		"is not a colour such as #0b6159":     {Accent: "green"},
		`"#12345"`:                            {AccentDark: "#12345"},
		"choose a darker colour":              {Accent: "#62cdbc"},
		"choose a lighter colour":             {AccentDark: "#0b6159"},
		"neither an SVG nor a PNG":            {Logo: []byte("<html></html>")},
		"the logo: ":                          {Logo: []byte("\x89PNG\r\n\x1a\nbroken")},
		"the logo has 65537 bytes":            {Logo: make([]byte, maxLogo+1)},
		"the style sheet has 65537 bytes":     {CSS: make([]byte, maxCSS+1)},
		"the footer has 501 bytes":            {Footer: strings.Repeat("x", maxFooter+1)},
		"at most 60 fit into the bar":         {Name: strings.Repeat("x", maxName+1)},
		"contrast of 1.0 with the background": {Accent: "#ffffff"},
	} {
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), tells) {
			t.Errorf("%s: %v", tells, err)
		}
	}
}

// TestBrandSheet checks that an accent gets a shade for dark mode, and that text on either is readable.
func TestBrandSheet(t *testing.T) {
	t.Parallel()
	for _, accent := range []string{"#0b6159", "#1f3fa8", "#8a1414", "#000000", "#5b3a00"} {
		b := &Brand{Accent: accent}
		if err := b.Validate(); err != nil {
			t.Error(err)
		}
		found := regexp.MustCompile(`--accent: (#[0-9a-f]{6}); --on-accent: (#[0-9a-f]{6})`).FindAllStringSubmatch(string(b.Sheet()), -1)
		if len(found) != 2 || found[0][1] != accent {
			t.Fatalf("%s: %s", accent, b.Sheet())
		}
		for i, mode := range []theme{light, dark} {
			c, err := parseColour(found[i][1])
			if err != nil || mode.lowestContrast(c) < minContrast || found[i][2] != c.textColour().String() {
				t.Errorf("%s: %v, %s", accent, err, found[i][0])
			}
		}
	}
	if b := (&Brand{Accent: "#0b6159", AccentDark: "#abcdef"}); !strings.HasSuffix(string(b.Sheet()), "{ :root { --accent: #abcdef; --on-accent: #06100f; } }\n") {
		t.Errorf("%s", b.Sheet())
	}
	if len((&Brand{Name: "Acme"}).Sheet()) != 0 || len((*Brand)(nil).Sheet()) != 0 {
		t.Error("a brand without colours has a sheet")
	}
}

func TestBrandFiles(t *testing.T) {
	t.Parallel()
	b := &Brand{Logo: []byte(picture)}
	w := httptest.NewRecorder()
	b.Serve(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody), brandSVG)
	if w.Body.String() != picture || w.Header().Get("Content-Security-Policy") != "default-src 'none'; sandbox" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	for _, name := range []string{"", brandSheet, brandPNG, Logo} {
		if b.Has(name) || (*Brand)(nil).Has(name) {
			t.Errorf("there is a %q", name)
		}
	}
}

func TestBar(t *testing.T) {
	t.Parallel()
	page := template.Must(template.New("").Parse(Templates))
	show := func(top Top) string {
		top.Home, top.At = "/here/", func(name string) string { return "/assets/" + name }
		var out strings.Builder
		if err := page.ExecuteTemplate(&out, "brand", top); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	services := []Service{{"board", "Forum", "/forum/"}, {"cms", "Site", "javascript:alert(1)"}}
	if text := show(Top{Bar: Bar{Services: services, Current: "board"}, Name: "A <board>"}); !strings.Contains(text, `<a class="brand" href="/here/"><img src="/assets/logo.svg" alt="" height="28"><span>A &lt;board&gt;</span></a>`) ||
		!strings.Contains(text, `<details class="services">`) || !strings.Contains(text, `<a href="/forum/" aria-current="true">Forum</a>`) || strings.Contains(text, "javascript") {
		t.Error(text)
	}
	if text := show(Top{Bar: Bar{Services: services[:1], Brand: &Brand{Name: "Acme", Logo: []byte(picture)}}, Part: "Console"}); strings.Contains(text, "details") ||
		!strings.Contains(text, `<img src="/assets/brand.svg" alt="" height="28"><span>Acme</span><span class="part">Console</span>`) {
		t.Error(text)
	}
}
