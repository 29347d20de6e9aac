package look

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"time"
)

// Brand is the operator's branding of the pages. The zero value is the product's branding.
type Brand struct {
	// Name is shown in the bar, in titles and in mails. Default: Tollgate.
	Name string
	// Logo is an SVG or PNG that replaces the product's logo. It is shown 28 pixels high.
	Logo []byte
	// Accent and AccentDark are the colours of links, buttons and marks on light and on dark backgrounds, in the
	// notation of CSS: #0b6159. Default: the product's green. If only Accent is set, AccentDark is a lighter shade of
	// the same colour.
	Accent, AccentDark string
	// Footer is plain text at the end of every page. Default: none.
	Footer string
	// CSS is appended to the product's style sheet. Default: none.
	CSS []byte
}

// Names of a brand's files, in URLs.
const (
	brandSheet = "brand.css"
	brandSVG   = "brand.svg"
	brandPNG   = "brand.png"
)

// Limits of the fields, in bytes.
const (
	maxName   = 60
	maxFooter = 500
	maxLogo   = 64 << 10
	maxCSS    = 64 << 10
)

// Called returns the name of the product for pages and mails: the operator's name or Tollgate. It may be called on a
// nil Brand.
func (b *Brand) Called() string {
	if b == nil {
		return "Tollgate"
	}
	return cmp.Or(b.Name, "Tollgate")
}

// Validate returns an error if a colour is malformed or would be hard to read, the logo is not a picture, or a field is
// too large.
func (b Brand) Validate() error {
	switch {
	case len(b.Name) > maxName:
		return fmt.Errorf("the name has %d bytes, and at most %d fit into the bar", len(b.Name), maxName)
	case len(b.Footer) > maxFooter:
		return fmt.Errorf("the footer has %d bytes, more than the maximum of %d", len(b.Footer), maxFooter)
	case len(b.CSS) > maxCSS:
		return fmt.Errorf("the style sheet has %d bytes, more than the maximum of %d", len(b.CSS), maxCSS)
	case len(b.Logo) > maxLogo:
		return fmt.Errorf("the logo has %d bytes, more than the maximum of %d", len(b.Logo), maxLogo)
	}
	if len(b.Logo) > 0 {
		if err := checkPicture(b.Logo); err != nil {
			return fmt.Errorf("the logo: %w", err)
		}
	}
	for _, check := range []struct {
		name, accent, advice string
		backgrounds          theme
	}{{"accent", b.Accent, "darker", light}, {"accent for dark pages", b.AccentDark, "lighter", dark}} {
		if check.accent == "" {
			continue
		}
		c, err := parseColour(check.accent)
		if err != nil {
			return fmt.Errorf("the %s: %w", check.name, err)
		}
		if contrast := check.backgrounds.lowestContrast(c); contrast < minContrast {
			return fmt.Errorf(
				"the %s %s has a contrast of %.1f with the backgrounds of the pages, but at least %.1f is needed: choose a %s colour",
				check.name, check.accent, contrast, minContrast, check.advice)
		}
	}
	return nil
}

// isPNG reports whether a picture is a PNG.
func isPNG(picture []byte) bool { return bytes.HasPrefix(picture, []byte("\x89PNG\r\n")) }

// checkPicture returns an error if a picture is neither a PNG nor an SVG.
func checkPicture(picture []byte) error {
	if isPNG(picture) {
		_, err := png.DecodeConfig(bytes.NewReader(picture))
		return err
	}
	root := "" // the name of the outermost element; the file is read to its end to see whether it is complete XML
	for d := xml.NewDecoder(bytes.NewReader(picture)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && root == "svg" {
			return nil
		}
		if err != nil {
			return errors.New("it is neither an SVG nor a PNG")
		}
		if e, ok := token.(xml.StartElement); ok && root == "" {
			root = e.Name.Local
		}
	}
}

// logo returns the file name of the operator's logo, or "" if the product's logo is used.
func (b *Brand) logo() string {
	switch {
	case b == nil || len(b.Logo) == 0:
		return ""
	case isPNG(b.Logo):
		return brandPNG
	}
	return brandSVG
}

// Names returns the names of the brand's style sheet and logo. A name is "" if the brand does not have that file.
func (b *Brand) Names() (sheet, logo string) {
	if len(b.Sheet()) > 0 {
		sheet = brandSheet
	}
	return sheet, b.logo()
}

// Sheet returns the brand's style sheet, or nil if the brand has none.
func (b *Brand) Sheet() []byte {
	if b == nil {
		return nil
	}
	var text bytes.Buffer
	if c, err := parseColour(b.Accent); err == nil {
		fmt.Fprintf(&text, ":root { --accent: %s; --on-accent: %s; }\n", c, c.textColour())
		fmt.Fprintf(&text, "@media (prefers-color-scheme: dark) { :root { --accent: %s; --on-accent: %s; } }\n",
			dark.lighten(c), dark.lighten(c).textColour())
	}
	if c, err := parseColour(b.AccentDark); err == nil {
		fmt.Fprintf(&text, "@media (prefers-color-scheme: dark) { :root { --accent: %s; --on-accent: %s; } }\n",
			c, c.textColour())
	}
	text.Write(b.CSS)
	return text.Bytes()
}

// File is a file of a brand.
type File struct {
	Type string // Content-Type
	Text []byte // nil if the brand does not have the file
}

// FilePolicy is the Content-Security-Policy of a brand's files. It keeps scripts in a picture from running.
const FilePolicy = "default-src 'none'; sandbox"

// File returns the brand's file with the given name. Its Text is nil if the brand does not have that file.
func (b *Brand) File(name string) File {
	switch {
	case name == brandSheet && len(b.Sheet()) > 0:
		return File{"text/css; charset=utf-8", b.Sheet()}
	case name != "" && name == b.logo() && name == brandPNG:
		return File{"image/png", b.Logo}
	case name != "" && name == b.logo():
		return File{"image/svg+xml", b.Logo}
	}
	return File{}
}

// Has reports whether the brand has a file.
func (b *Brand) Has(name string) bool { return b.File(name).Text != nil }

// Version returns a hash of the brand's file with the given name; see the function Version.
func (b *Brand) Version(name string) string { return Version(b.File(name).Text) }

// Serve answers a GET or HEAD request with a file of the brand, which must exist.
func (b *Brand) Serve(w http.ResponseWriter, r *http.Request, name string) {
	file := b.File(name)
	header := w.Header()
	header.Set("Content-Security-Policy", FilePolicy)
	header.Set("Content-Type", file.Type)
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", `"`+Version(file.Text)+`"`)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file.Text))
}
