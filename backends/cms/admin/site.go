package admin

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/instant"
	"github.com/tollgate-gateway/tollgate/internal/resource"
)

type routesData struct {
	Endpoint string
	Failed   []string
	Warnings []string
	Loaded   kernel.Moment
	Table    resource.Part
}

var routeTable = resource.Table[*routes.Route]{
	Title: "Routes", Empty: "No routes were read yet.",
	Columns: routeColumns,
}

var routeColumns = []resource.Column[*routes.Route]{
	{Label: "Method", Code: func(r *routes.Route) string { return r.Method }},
	{Label: "Path", Code: func(r *routes.Route) string { return strings.TrimSuffix("/"+r.Endpoint, "/") }},
	{Label: "Answered by", Text: func(r *routes.Route) string { return r.Class + "." + r.Func }},
	{Label: "Who", Show: func(r *routes.Route) resource.Cell {
		switch {
		case !r.Options.Auth:
			return resource.Text("everybody")
		case len(r.Options.Roles) > 0:
			return joined(r.Options.Roles)
		}
		return resource.Text("users")
	}},
	{Label: "Written at", Show: func(r *routes.Route) resource.Cell {
		if r.Default {
			return resource.Note("built in")
		}
		return resource.Text(r.At.String())
	}},
}

// routes shows the routes in use and, if they could not be loaded, the error of the current files.
func (c *call) routes() error {
	state := c.Routes()
	d := &routesData{Endpoint: "/" + c.Settings.Current().Mount(), Loaded: instant.Of(state.Loaded)}
	if state.Failed != nil {
		d.Failed = strings.Split(state.Failed.Error(), "\n")
	}
	for _, warning := range state.Warnings {
		d.Warnings = append(d.Warnings, warning.Error())
	}
	var list []*routes.Route
	if state.Table != nil {
		for _, r := range state.Table.Routes() {
			row := *r
			row.Endpoint = strings.Trim(d.Endpoint+"/"+r.Endpoint, "/")
			list = append(list, &row)
		}
	}
	d.Table = routeTable.Of(list)
	return c.Show("routes", "Routes", d)
}

func (c *call) reload() error {
	if err := c.Reload(); err != nil {
		return c.Redirect("/routes", "The files have errors: what was read before stays in use.")
	}
	return c.Redirect("/routes", "The files are read anew.")
}

// siteSettings is the form of the settings. The form does not show the JWT secret; Fresh generates a new secret.
type siteSettings struct {
	settings.Settings
	Fresh bool
}

var settingsForm = resource.Form[*call, siteSettings]{
	Path: "/settings", Admit: operators, Head: resource.Head{Title: "Settings"},
	Load: func(c *call) (*siteSettings, error) {
		s := &siteSettings{Settings: *c.Settings.Current()}
		s.Auth = s.Mode()
		return s, nil
	},
	Fields: []resource.Field[*call, siteSettings]{
		{
			Name: "endpoint", Label: "Path of the API", Placeholder: "api",
			Text: func(s *siteSettings) *string { return &s.Endpoint },
		},
		{
			Name: "auth", Label: "Authorization", Text: func(s *siteSettings) *string { return &s.Auth },
			Options: resource.Fixed[*call, *siteSettings](
				resource.Choice{Value: settings.None, Label: "None: everybody is the guest"},
				resource.Choice{Value: settings.Session, Label: "Session: a cookie"},
				resource.Choice{Value: settings.JWT, Label: "JWT: a token in a header"}),
		},
		{
			Name: "content", Label: "The content API", Text: func(s *siteSettings) *string { return &s.Content },
			Options: resource.Fixed[*call, *siteSettings](
				resource.Choice{Label: "By the mode: off without one, else read"},
				resource.Choice{Value: settings.ContentOff, Label: "Off"},
				resource.Choice{Value: settings.ContentRead, Label: "Read"},
				resource.Choice{Value: settings.ContentWrite, Label: "Read and write"}),
		},
		{
			Name: "origins", Label: "Origins of other sites' pages that may call it", Help: "One a line.",
			Placeholder: "https://app.example.com",
			List:        func(s *siteSettings) *[]string { return &s.Origins },
		},
		{
			Name: "jwtSeconds", Section: "Tokens (JWT)", Label: "Seconds that a token is good", Placeholder: "86400", Min: 60,
			Number: func(s *siteSettings) *int64 { return &s.JWTSeconds },
		},
		{Name: "jwtRefresh", Label: "Refresh tokens with them", Flag: func(s *siteSettings) *bool { return &s.JWTRefresh }},
		{
			Name: "fresh", Label: "Make another secret: all tokens are bad from then on",
			Flag: func(s *siteSettings) *bool { return &s.Fresh },
		},
		{
			Name: "siteUrl", Section: "Site", Label: "Address of the site", Help: "With it there is a sitemap.", Type: "url",
			Placeholder: "https://www.example.com", Text: func(s *siteSettings) *string { return &s.SiteURL },
		},
		{
			Name: "redirects", Label: "Lead from where a page was to where it is",
			Flag: func(s *siteSettings) *bool { return &s.Redirects },
		},
		{
			Name: "fetchHosts", Section: "Handlers", Label: "Hosts that they may fetch from", Help: "One a line.",
			List: func(s *siteSettings) *[]string { return &s.FetchHosts },
		},
		{
			Name: "debug", Label: "Tell callers the text of errors: never on a site that others see",
			Flag: func(s *siteSettings) *bool { return &s.Debug },
		},
	},
	Save: func(c *call, s *siteSettings) (resource.Done, error) {
		now := s.Settings
		if now.Endpoint = strings.Trim(now.Endpoint, "/"); s.Fresh {
			now.JWTSecret = settings.NewSecret()
		}
		err := c.checkSettings(&now)
		if err == nil {
			err = c.Settings.Save(now)
		}
		if err != nil {
			return resource.Done{}, err
		}
		if err := c.Reload(); err != nil {
			return resource.Done{To: "/routes", Notice: "The settings are saved; the files of the site have errors."}, nil
		}
		return resource.Done{}, nil
	},
}

// checkSettings returns the first error in the settings, with the name of the setting.
func (c *call) checkSettings(s *settings.Settings) error {
	if "/"+s.Mount() == c.Mount ||
		strings.HasPrefix(c.Mount+"/", "/"+s.Mount()+"/") || strings.HasPrefix("/"+s.Mount()+"/", c.Mount+"/") {
		return kernel.Invalid("endpoint", "taken", "the administration is at "+c.Mount+": the API needs another path")
	}
	err := s.Check()
	if err == nil {
		return nil
	}
	field, message, ok := strings.Cut(err.Error(), ": ")
	if !ok {
		return err
	}
	field, _, _ = strings.Cut(field, ",")
	return kernel.Invalid(field, "invalid", message)
}
