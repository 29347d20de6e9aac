package admin

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/instant"
	"github.com/tollgate-gateway/tollgate/internal/resource"
)

// routesData is the data of the page with the routes.
type routesData struct {
	Endpoint string   // path of the API, such as /api
	Failed   []string // lines of the error in the current files, which are therefore not in use
	Warnings []string
	Loaded   kernel.Moment
	Table    resource.Part
}

var routeTable = resource.Table[*routes.Route]{
	Title: "Routes", Empty: "No routes have been loaded yet.",
	Columns: routeColumns,
}

var routeColumns = []resource.Column[*routes.Route]{
	{Label: "Method", Code: func(r *routes.Route) string { return r.Method }},
	{Label: "Path", Code: func(r *routes.Route) string { return strings.TrimSuffix("/"+r.Endpoint, "/") }},
	{Label: "Handler", Text: func(r *routes.Route) string { return r.Class + "." + r.Func }},
	{Label: "Allowed for", Show: func(r *routes.Route) resource.Cell {
		switch {
		case !r.Options.Auth:
			return resource.Text("everybody")
		case len(r.Options.Roles) > 0:
			return joinedCell(r.Options.Roles)
		}
		return resource.Text("users")
	}},
	{Label: "Declared at", Show: func(r *routes.Route) resource.Cell {
		if r.Default {
			return resource.Note("built in")
		}
		return resource.Text(r.At.String())
	}},
}

// routes shows the routes in use. If the current files could not be loaded, it also shows the error in these files.
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

// reload reads the files of the site again. The page with the routes shows any error.
func (c *call) reload() error {
	if err := c.Reload(); err != nil {
		return c.Redirect("/routes", "The files have errors. The routes that were loaded before stay in use.")
	}
	return c.Redirect("/routes", "The files are reloaded.")
}

// siteSettings is the form of the settings. The form does not show the JWT secret; Fresh generates a new secret.
type siteSettings struct {
	settings.Settings
	Fresh bool
}

var settingsForm = resource.Form[*call, siteSettings]{
	Path: "/settings", Admit: requireSettings, Head: resource.Head{Title: "Settings"},
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
				resource.Choice{Value: settings.None, Label: "None: every caller is the guest"},
				resource.Choice{Value: settings.Session, Label: "Session: a cookie"},
				resource.Choice{Value: settings.JWT, Label: "JWT: a token in a header"}),
		},
		{
			Name: "content", Label: "The content API", Text: func(s *siteSettings) *string { return &s.Content },
			Options: resource.Fixed[*call, *siteSettings](
				resource.Choice{Label: "Default: off without authorization, otherwise read"},
				resource.Choice{Value: settings.ContentOff, Label: "Off"},
				resource.Choice{Value: settings.ContentRead, Label: "Read"},
				resource.Choice{Value: settings.ContentWrite, Label: "Read and write"}),
		},
		{
			Name: "origins", Label: "Origins of other sites whose pages may call the API", Help: "One per line.",
			Placeholder: "https://app.example.com",
			List:        func(s *siteSettings) *[]string { return &s.Origins },
		},
		{
			Name: "jwtSeconds", Section: "Tokens (JWT)", Label: "Lifetime in seconds", Placeholder: "86400", Min: 60,
			Number: func(s *siteSettings) *int64 { return &s.JWTSeconds },
		},
		{Name: "jwtRefresh", Label: "Also issue refresh tokens", Flag: func(s *siteSettings) *bool { return &s.JWTRefresh }},
		{
			Name: "fresh", Label: "Create a new secret, which invalidates all tokens",
			Flag: func(s *siteSettings) *bool { return &s.Fresh },
		},
		{
			Name: "siteUrl", Section: "Site", Label: "Address of the site", Help: "Required for a sitemap.", Type: "url",
			Placeholder: "https://www.example.com", Text: func(s *siteSettings) *string { return &s.SiteURL },
		},
		{
			Name: "redirects", Label: "Redirect from the previous paths of moved pages",
			Flag: func(s *siteSettings) *bool { return &s.Redirects },
		},
		{
			Name: "fetchHosts", Section: "Handlers", Label: "Hosts from which they may fetch", Help: "One per line.",
			List: func(s *siteSettings) *[]string { return &s.FetchHosts },
		},
		{
			Name: "debug", Label: "Show the text of internal errors to callers (only for development)",
			Flag: func(s *siteSettings) *bool { return &s.Debug },
		},
	},
	Save: func(c *call, s *siteSettings) (resource.Done, error) {
		changed := s.Settings
		changed.Endpoint = strings.Trim(changed.Endpoint, "/")
		if s.Fresh {
			changed.JWTSecret = settings.NewSecret()
		}
		err := c.checkSettings(&changed)
		if err == nil {
			err = c.Settings.Save(changed)
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
	api, administration := "/"+s.Mount()+"/", c.Mount+"/"
	if strings.HasPrefix(administration, api) || strings.HasPrefix(api, administration) {
		return kernel.Invalid("endpoint", "taken", "the administration is at "+c.Mount+": the API needs another path")
	}
	err := s.Check()
	if err == nil {
		return nil
	}
	// An error of Check begins with the names of settings, such as "origins, fetchHosts: more than 100".
	field, message, ok := strings.Cut(err.Error(), ": ")
	if !ok {
		return err
	}
	field, _, _ = strings.Cut(field, ",")
	return kernel.Invalid(field, "invalid", message)
}
