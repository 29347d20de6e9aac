package cms

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/cms"
	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// command is the command line of the service.
var command = caddycmd.Command{
	Name:  serviceName,
	Usage: "<command> [--site <folder>] [--config <file>] [--adapter <name>] [--json]",
	Short: "Installs and checks a CMS site, manages its users, and exports and imports its content",
	Long: `
Installs a site, checks its routes and classes, manages its users, and exports and
imports its content.

The commands work whether or not the server is running. Run them in the folder of
the server and as the user of the server, because paths such as site and
data/tollgate.db are relative to the working directory.
`,
	CobraFunc: commands,
}

// options are the flags of every subcommand.
type options struct {
	cli.Flags
	site string
}

// commands adds the subcommands and their common flags to the command of the service.
func commands(root *cobra.Command) {
	o := new(options)
	o.Add(root)
	root.PersistentFlags().StringVar(&o.site, "site", "site", "Folder of the site")
	cli.Group(root, installCommand(o), checkCommand(o), devCommand(o), userCommand(o), exportCommand(o), importCommand(o))
}

// session is one run of a subcommand with the CMS server on the open database.
type session struct {
	*cli.Session
	*cms.Server
}

// run returns the RunE function of a subcommand, which opens the site's CMS and calls work.
func (o *options) run(
	work func(s *session, cmd *cobra.Command, args []string) error,
) func(*cobra.Command, []string) error {
	return o.Run(func(s *cli.Session, cmd *cobra.Command, args []string) error {
		server, err := o.open(s)
		if err != nil {
			return err
		}
		defer server.Close()
		return work(&session{s, server}, cmd, args)
	})
}

// open returns the CMS of the site, which uses the database of s. The caller must close the CMS, but not the database.
func (o *options) open(s *cli.Session) (*cms.Server, error) {
	site, err := filepath.Abs(o.site)
	if err != nil {
		return nil, err
	}
	var db *store.DB // all schemas are in one database, which each call returns
	for _, schema := range cms.Schemas() {
		if db, err = s.App.OpenDatabase(s.Ctx, serviceName, schema); err != nil {
			return nil, err
		}
	}
	return cms.Offline(cms.Options{Site: site, DB: db, Now: time.Now})
}

// installCommand returns the command that installs a site.
func installCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "install --admin <name>", Args: cobra.NoArgs,
		Short: "Installs a new site and its first user",
		Long: `
Creates the files of the site that do not exist yet, without overwriting any, the pages
and templates that every site has, and a first user with all permissions. The password
is shown only once.

To remove a site, delete its folder and its database. The command never deletes site/api.
`,
	}
	admin := cmd.Flags().String("admin", "", "Name of the first user (required)")
	cli.Required(cmd, "admin")
	cmd.RunE = o.run(func(s *session, _ *cobra.Command, _ []string) error {
		installed, err := s.Install(s.Ctx, *admin)
		if err != nil {
			return err
		}
		answer := struct {
			Site     string   `json:"site"`
			Files    []string `json:"files"`
			Pages    []string `json:"pages"`
			Password string   `json:"password,omitempty"`
		}{s.Site, cli.List(installed.Files), cli.List(installed.Pages), installed.Password}
		return s.Answer(answer, func(w io.Writer) {
			for _, file := range installed.Files {
				s.Note("created %s", filepath.Join(o.site, filepath.FromSlash(file)))
			}
			for _, page := range installed.Pages {
				s.Note("created the page %s", page)
			}
			if installed.Password == "" {
				s.Note("A superuser already exists; none was created.")
				return
			}
			_, _ = io.WriteString(w, installed.Password+"\n")
			s.Note("The password of %s is shown only once.", strings.TrimSpace(*admin))
		})
	})
	return cmd
}

// shownRoute is a route in the output of check.
type shownRoute struct {
	Method   string   `json:"method"`
	Endpoint string   `json:"endpoint"`
	Class    string   `json:"class"`
	Name     string   `json:"name"`
	Auth     bool     `json:"auth"`
	Roles    []string `json:"roles"`
	At       string   `json:"at"`
}

// checkCommand returns the command that checks the files of a site. It does not need the database.
func checkCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "check", Args: cobra.NoArgs,
		Short: "Checks the settings, routes and classes of the site, and lists the routes",
		Long: `
Reads the files of the site as the server does, and lists the routes. An error names the
file, line and column. If the database exists, the command also names pages that are not
served because their paths belong to the API.
`,
	}
	cmd.RunE = o.Run(func(s *cli.Session, _ *cobra.Command, _ []string) error {
		state, err := cms.Check(o.site)
		if err != nil {
			return err
		}
		hidden, err := o.hiddenPages(s)
		if err != nil {
			s.Note("The pages were not checked: %v", err)
		}
		for _, path := range hidden {
			s.Note("The page %s is not served, because its path belongs to the API.", path)
		}
		for _, warning := range state.Warnings {
			s.Note("%s", warning)
		}
		list := shownRoutes(state.Table.Routes())
		return s.Table(map[string]any{"routes": list, "warnings": warnings(state.Warnings), "hidden": cli.List(hidden)},
			func(w io.Writer) {
				cli.Row(w, "METHOD", "ENDPOINT", "CLASS", "NAME", "AUTH", "AT")
				for _, r := range list {
					auth := cli.Yes(r.Auth)
					if len(r.Roles) > 0 {
						auth = strings.Join(r.Roles, ", ")
					}
					cli.Row(w, r.Method, "/"+r.Endpoint, r.Class, r.Name, auth, r.At)
				}
			})
	})
	return cmd
}

// hiddenPages returns the pages that cannot be reached because an API route has the same path. It returns nil if there
// is no database yet.
func (o *options) hiddenPages(s *cli.Session) ([]string, error) {
	if s.App.Exists(serviceName) != nil {
		return nil, nil
	}
	server, err := o.open(s)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	return server.Content().Shadowed(s.Ctx, server.Endpoint(), 20)
}

// shownRoutes returns the routes in the form of the output.
func shownRoutes(allRoutes []*routes.Route) []shownRoute {
	list := make([]shownRoute, len(allRoutes))
	for i, r := range allRoutes {
		location := r.At.String()
		if r.Default {
			location = "default"
		}
		list[i] = shownRoute{r.Method, r.Endpoint, r.Class, r.Func, r.Options.Auth, cli.List(r.Options.Roles), location}
	}
	return list
}

// warnings returns the texts of the warnings.
func warnings(list []*routes.Error) []string {
	texts := make([]string, len(list))
	for i, warning := range list {
		texts[i] = warning.Error()
	}
	return texts
}

var errNoPassword = errors.New("the password is empty: pipe it in, or generate one with --generate")
