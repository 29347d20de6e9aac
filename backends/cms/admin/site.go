package admin

import (
	"errors"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/instant"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

type routeRow struct {
	*routes.Route
	Path  string
	Where string
}

type routesData struct {
	Endpoint string
	Failed   []string
	Warnings []string
	Loaded   kernel.Moment
	List     []routeRow
}

// routes shows the table that is in use, and why the files as they are now are not.
func (c *call) routes() error {
	state := c.Routes()
	d := &routesData{Endpoint: "/" + c.Settings.Current().Mount(), Loaded: instant.Of(state.Loaded)}
	if state.Failed != nil {
		d.Failed = strings.Split(state.Failed.Error(), "\n")
	}
	for _, warning := range state.Warnings {
		d.Warnings = append(d.Warnings, warning.Error())
	}
	if state.Table != nil {
		for _, r := range state.Table.Routes() {
			row := routeRow{r, strings.TrimSuffix(d.Endpoint+"/"+r.Endpoint, "/"), ""}
			if !r.Default {
				row.Where = r.At.String()
			}
			d.List = append(d.List, row)
		}
	}
	return c.Show("routes", "Routes", d)
}

func (c *call) reload() error {
	if err := c.Reload(); err != nil {
		return c.Redirect("/routes", "The files have errors: what was read before stays in use.")
	}
	return c.Redirect("/routes", "The files are read anew.")
}

type settingsData struct {
	*settings.Settings
	Modes, Contents     pages.Select
	Origins, FetchHosts string
	HasSecret           bool
}

func (c *call) settings() error { return c.showSettings(nil, c.Settings.Current()) }

func (c *call) showSettings(refusal error, s *settings.Settings) error {
	d := &settingsData{Settings: s, Origins: strings.Join(s.Origins, "\n"), FetchHosts: strings.Join(s.FetchHosts, "\n"), HasSecret: c.Settings.Current().JWTSecret != ""}
	for _, mode := range []struct{ value, label string }{{settings.None, "None: everybody is the guest"}, {settings.Session, "Session: a cookie"}, {settings.JWT, "JWT: a token in a header"}} {
		d.Modes.Add(mode.value, mode.label, s.Mode() == mode.value)
	}
	for _, content := range []struct{ value, label string }{{"", "By the mode: off without one, else read"}, {settings.ContentOff, "Off"}, {settings.ContentRead, "Read"}, {settings.ContentWrite, "Read and write"}} {
		d.Contents.Add(content.value, content.label, s.Content == content.value)
	}
	return c.ShowForm(refusal, "settings", "Settings", d)
}

// saveSettings keeps the secret, which no page shows, unless another one is asked for.
func (c *call) saveSettings() error {
	now := *c.Settings.Current()
	now.Endpoint, now.Auth, now.Content = strings.Trim(strings.TrimSpace(c.Form.Text("endpoint")), "/"), c.Form.Text("auth"), c.Form.Text("content")
	now.JWTSeconds, now.JWTRefresh = c.Form.Number("jwtSeconds"), c.Form.Flag("jwtRefresh")
	now.Origins, now.FetchHosts = lines(c.Form.Text("origins")), lines(c.Form.Text("fetchHosts"))
	now.SiteURL, now.Redirects, now.Debug = strings.TrimSpace(c.Form.Text("siteUrl")), c.Form.Flag("redirects"), c.Form.Flag("debug")
	if c.Form.Flag("fresh") {
		now.JWTSecret = settings.NewSecret()
	}
	err := errors.Join(c.Form.Err(), c.checkSettings(&now))
	if err != nil {
		return c.showSettings(err, &now)
	}
	if err := c.Settings.Save(now); err != nil {
		return err
	}
	if err := c.Reload(); err != nil {
		return c.Redirect("/routes", "The settings are saved; the files of the site have errors.")
	}
	return c.Redirect("/settings", "Saved.")
}

// checkSettings tells what is wrong at the field that it is about.
func (c *call) checkSettings(s *settings.Settings) error {
	if "/"+s.Mount() == c.Mount || strings.HasPrefix(c.Mount+"/", "/"+s.Mount()+"/") || strings.HasPrefix("/"+s.Mount()+"/", c.Mount+"/") {
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
