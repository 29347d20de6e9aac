package tollgate

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
)

// Brand describes the look of the pages and mails of all services. {env.*} and {file.*} are resolved in all fields.
type Brand struct {
	// Name is shown in the bar of pages, in their titles and in mails. A service that has a configured name shows that
	// name instead. Default: Tollgate.
	Name string `json:"name,omitempty"`

	// Logo is an SVG or PNG file that replaces the product's logo. Default: none.
	Logo string `json:"logo,omitempty"`

	// Accent is the colour of links, buttons and marks on a light background, such as #0b6159. Default: the product's
	// green.
	Accent string `json:"accent,omitempty"`

	// AccentDark is the colour of the same elements on a dark background. Default: Accent.
	AccentDark string `json:"accent_dark,omitempty"`

	// Footer is text at the end of every page and mail. Default: none.
	Footer string `json:"footer,omitempty"`

	// CSS is a file with style rules that are added after the product's rules. Default: none.
	CSS string `json:"css,omitempty"`
}

// maxBrandFile is the limit for a logo or a style sheet, in bytes.
const maxBrandFile = 64 << 10

// brandOption parses the option brand.
func (a *App) brandOption(d *caddyfile.Dispenser) error {
	if d.NextArg() {
		return d.ArgErr()
	}
	b := new(Brand)
	a.Brand = b
	return directive.Options(d, func(option string) error {
		args := d.RemainingArgs()
		text, ok := map[string]*string{
			"name": &b.Name, "logo": &b.Logo, "accent": &b.Accent, "footer": &b.Footer, "css": &b.CSS,
		}[option]
		switch {
		case !ok:
			return directive.NoOption(d, "brand has no option %q; there are: name, logo, accent, footer, css", option)
		case option == "accent" && len(args) == 0:
			return d.Err(`accent needs a colour in quotes, such as "#0b6159": # alone begins a comment`)
		case option == "accent" && len(args) == 2:
			b.AccentDark = args[1]
		case len(args) != 1:
			return d.ArgErr()
		}
		if *text = args[0]; option == "logo" || option == "css" {
			*text = directive.ResolvePath(d, args[0])
		}
		return nil
	})
}

// load resolves placeholders and reads the files. It returns nil for a nil Brand, which means the product's look.
func (b *Brand) load() (*look.Brand, error) {
	if b == nil {
		return nil, nil
	}
	resolved := *b
	for _, text := range []*string{
		&resolved.Name, &resolved.Logo, &resolved.Accent, &resolved.AccentDark, &resolved.Footer, &resolved.CSS,
	} {
		var err error
		if *text, err = placeholder.Resolve(*text); err != nil {
			return nil, err
		}
	}
	brand := &look.Brand{
		Name: resolved.Name, Accent: resolved.Accent, AccentDark: resolved.AccentDark, Footer: resolved.Footer,
	}
	for option, text := range map[string]string{"name": brand.Name, "footer": brand.Footer} {
		if strings.ContainsFunc(text, unicode.IsControl) {
			return nil, fmt.Errorf("%s: must be one line of text", option)
		}
	}
	var err error
	if brand.Logo, err = brandFile(resolved.Logo); err != nil {
		return nil, fmt.Errorf("logo: %w", err)
	}
	if brand.CSS, err = brandFile(resolved.CSS); err != nil {
		return nil, fmt.Errorf("css: %w", err)
	}
	if err := brand.Validate(); err != nil {
		return nil, err
	}
	return brand, nil
}

// brandFile reads a file of at most maxBrandFile bytes. It returns nil for an empty name.
func brandFile(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxBrandFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxBrandFile:
		return nil, fmt.Errorf("%s has more than %d KiB", name, maxBrandFile>>10)
	case len(text) == 0:
		return nil, fmt.Errorf("%s is empty", name)
	}
	return text, nil
}

// BrandOfPages returns the brand that the operator has configured, or nil for the product's look.
func (a *App) BrandOfPages() *look.Brand { return a.brand }
