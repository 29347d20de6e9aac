package tollgate

import (
	"image"
	"image/png"
	"os"
	"strings"
	"testing"
	"time"
)

// TestBrand checks that the brand is read with its files, and that errors name the fault.
func TestBrand(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TOLLGATE_TEST_NAME", "Example")
	var picture strings.Builder
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"logo.svg": "<?xml version=\"1.0\"?><!-- ours --><svg xmlns=\"http://www.w3.org/2000/svg\"/>", "logo.png": picture.String(), "logo.gif": "GIF89a",
		"page.html": "<html></html>", "more.css": "h1 { color: red }", "empty.css": "", "large.css": strings.Repeat("/* much */", 7000),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	brand, err := (&Brand{Name: "{env.TOLLGATE_TEST_NAME}", Logo: "logo.svg", Accent: "#0b6159", AccentDark: "#7fd", Footer: "Imprint", CSS: "more.css"}).load()
	if err != nil || brand.Name != "Example" || !strings.Contains(string(brand.Logo), "<svg") || brand.Accent != "#0b6159" || brand.AccentDark != "#7fd" || brand.Footer != "Imprint" || string(brand.CSS) != "h1 { color: red }" {
		t.Errorf("the brand is %+v, %v", brand, err)
	}
	if brand, err := (*Brand)(nil).load(); brand != nil || err != nil {
		t.Errorf("no brand is %v, %v", brand, err)
	}
	if _, err := (&Brand{Logo: "logo.png"}).load(); err != nil {
		t.Error(err)
	}
	for tells, b := range map[string]Brand{
		"the name has 61 bytes":       {Name: strings.Repeat("n", 61)},
		"name: must be one line":      {Name: "a\nb"},
		"the footer has 501 bytes":    {Footer: strings.Repeat("n", 501)},
		`the accent: "red"`:           {Accent: "red"},
		`dark pages: "#12345"`:        {Accent: "#0b6159", AccentDark: "#12345"},
		"logo: open gone.svg":         {Logo: "gone.svg"},
		"the logo: it is neither":     {Logo: "logo.gif"},
		"logo: it is neither an SVG ": {Logo: "page.html"},
		"css: empty.css is empty":     {CSS: "empty.css"},
		"css: large.css has more":     {CSS: "large.css"},
		"variable TOLLGATE_TEST_NO ":  {Name: "{env.TOLLGATE_TEST_NO}"},
	} {
		if _, err := b.load(); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(tells)) {
			t.Errorf("%s: %v", tells, err)
		}
	}
}

// TestBackupNote checks that the note about a backup can be read again, also by another app.
func TestBackupNote(t *testing.T) {
	t.Chdir(t.TempDir())
	app := provision(t, "{}")
	if _, ok := app.LastBackup(); ok {
		t.Error("there is a backup")
	}
	for _, folder := range []string{"/backups/1", "/backups/2"} {
		if err := app.NoteBackup(Backup{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Folder: folder}); err != nil {
			t.Fatal(err)
		}
	}
	b, ok := provision(t, "{}").LastBackup()
	if !ok || b.Folder != "/backups/2" || b.At.Year() != 2026 {
		t.Errorf("the note is %+v, %t", b, ok)
	}
}
