package keychain

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// modelCommands returns the commands that manage the model table of a user.
func modelCommands(o *options) *cobra.Command {
	remove := &cobra.Command{
		Use:   "remove <entry> --user <id>",
		Short: "Removes a model that the user has added, or the user's changes to another model",
		Args:  cobra.ExactArgs(1),
		RunE: o.run(func(s *session, _ *cobra.Command, args []string) error {
			if err := s.RemoveModel(s.Ctx, s.user, args[0]); err != nil {
				return err
			}
			return s.printRemoved(args[0])
		}),
	}
	return cli.Group(&cobra.Command{Use: "models", Short: "Manages the model table of a user"},
		o.forUser(listModels(o)), o.forUser(switchModel(o, "enable", true)), o.forUser(switchModel(o, "disable", false)),
		o.forUser(orderModel(o)), o.forUser(addModel(o)), o.forUser(remove))
}

// listModels returns the command that lists the models of a user.
func listModels(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list --user <id> [--all]",
		Short: "Lists the models that the user can reach, in the order they are tried",
		Args:  cobra.NoArgs,
	}
	all := cmd.Flags().Bool("all", false, "Include models of providers without a key")
	cmd.RunE = o.runForUser(func(s *session) error {
		entries, err := s.Models(s.Ctx, s.catalog, s.user)
		if err != nil {
			return err
		}
		if !*all {
			entries = slices.DeleteFunc(entries, func(e keychain.ModelEntry) bool { return !e.ProviderConnected })
			if len(entries) == 0 {
				s.Note("The user cannot reach any model: add a provider key with: tollgate keychain provider-keys add <provider> --user %s. "+
					"See all models with --all.", s.user)
			}
		}
		return s.Table(cli.List(entries), func(w io.Writer) { showModels(w, entries...) })
	})
	return cmd
}

// switchModel returns the command named verb, "enable" or "disable", that enables or disables a model.
func switchModel(o *options, verb string, enabled bool) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " <entry> --user <id>",
		Short: strings.ToUpper(verb[:1]) + verb[1:] + "s a model",
		Args:  cobra.ExactArgs(1),
		RunE: o.run(func(s *session, _ *cobra.Command, args []string) error {
			return s.changeModel(args[0], keychain.ModelChange{Enabled: &enabled})
		}),
	}
}

// orderModel returns the command that sets the priority of a model.
func orderModel(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "priority <entry> <n> --user <id>",
		Short:   "Sets the priority of a model inside its tier: lower is tried earlier, 0 is the default",
		Example: "  tollgate keychain models priority groq/llama-3.3-70b-versatile --user alice -- -10",
		Args:    cobra.ExactArgs(2),
		RunE: o.run(func(s *session, _ *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return fmt.Errorf("the priority %q is not a whole number", args[1])
			}
			return s.changeModel(args[0], keychain.ModelChange{Priority: &n})
		}),
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if strings.Contains(err.Error(), "shorthand") {
			return fmt.Errorf("%w; put a negative number at the end, after two dashes: … --user alice -- -10", err)
		}
		return err
	})
	return cmd
}

// changeModel changes the entry with the given id or name, and prints it.
func (s *session) changeModel(name string, change keychain.ModelChange) error {
	entry, err := s.ChangeModel(s.Ctx, s.catalog, s.user, name, change)
	if err != nil {
		return err
	}
	return s.Table(entry, func(w io.Writer) { showModels(w, *entry) })
}

// addModel returns the command that adds a custom model.
func addModel(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add <entry> --user <id> --base-url <url> --model <name> --tier low|medium|high [--wire <format>] [--key-from-env <name>]",
		Short: "Adds a model at a base URL that the user chooses",
		Long: `
Adds a model at a base URL that the user chooses. The entry is the name that
clients send, such as local/qwen. Base URLs on private networks are refused unless the
configuration allows them with allow_networks in the option tollgate.
`,
		Args: cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	base := flags.String("base-url", "", "Base URL, to which /chat/completions, /responses or /messages is appended (required)")
	model := flags.String("model", "", "Name of the model at that server (required)")
	tier := flags.String("tier", "", "low, medium or high (required)")
	wire := flags.String("wire", "", "The format that the server speaks: chat, responses or messages (default: chat)")
	variable := flags.String("key-from-env", "", "Environment variable with the server's key (default: no key)")
	cli.Required(cmd, "base-url", "model", "tier")
	cmd.RunE = o.run(func(s *session, _ *cobra.Command, args []string) error {
		custom := keychain.CustomModel{Entry: args[0], BaseURL: *base, Wire: *wire, Model: *model}
		var err error
		if custom.Tier, err = catalog.ParseTier(*tier); err != nil {
			return err
		}
		if *variable != "" {
			if custom.APIKey, err = fromEnvironment(*variable); err != nil {
				return err
			}
		}
		entry, err := s.AddModel(s.Ctx, s.user, custom)
		if refusal, ok := apierror.From(err); ok && refusal.Param == "base_url" && string(s.App.ConfigJSON()) == "{}" {
			return fmt.Errorf("%s. No configuration was read, because there is no Caddyfile in this folder: "+
				"name the server's file with --config", refusal.Message)
		}
		if err != nil {
			return err
		}
		return s.Table(entry, func(w io.Writer) { showModels(w, *entry) })
	})
	return cmd
}

// showModels prints a table of models.
func showModels(w io.Writer, entries ...keychain.ModelEntry) {
	cli.Row(w, "TIER", "MODEL", "ENABLED", "PRIORITY", "PROVIDER KEY", "BASE URL")
	for i := range entries {
		e := &entries[i]
		cli.Row(w, e.Tier, e.Entry, cli.Yes(e.Enabled), e.Priority, cli.Yes(e.ProviderConnected), e.BaseURL)
	}
}

// preferenceCommands returns the commands that show and set the routing preferences of a user.
func preferenceCommands(o *options) *cobra.Command {
	show := &cobra.Command{
		Use:   "show --user <id>",
		Short: "Shows the routing preferences of a user",
		Args:  cobra.NoArgs,
		RunE: o.runForUser(func(s *session) error {
			p, err := s.Preferences(s.Ctx, s.user)
			if err != nil {
				return err
			}
			return s.showPreferences(p)
		}),
	}
	return cli.Group(&cobra.Command{Use: "preferences", Short: "Manages the routing preferences of a user"},
		o.forUser(show), o.forUser(setPreferences(o)))
}

// setPreferences returns the command that sets routing preferences.
func setPreferences(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set --user <id> [--prefer <provider,…>] [--exclude-provider <provider,…>] [--exclude-model <entry,…>]",
		Short: `Replaces the lists that are given and keeps the others; "" empties a list`,
		Args:  cobra.NoArgs,
	}
	flags := cmd.Flags()
	prefer := flags.StringSlice("prefer", nil, "Providers to try first in each tier, in this order")
	providers := flags.StringSlice("exclude-provider", nil, "Providers that are never used")
	models := flags.StringSlice("exclude-model", nil, "Models that are never used")
	cmd.MarkFlagsOneRequired("prefer", "exclude-provider", "exclude-model")
	cmd.RunE = o.run(func(s *session, _ *cobra.Command, _ []string) error {
		p, err := s.Preferences(s.Ctx, s.user)
		if err != nil {
			return err
		}
		for _, list := range []struct {
			flag          string
			value, target *[]string
		}{
			{"prefer", prefer, &p.PreferredProviders},
			{"exclude-provider", providers, &p.ExcludedProviders},
			{"exclude-model", models, &p.ExcludedModels},
		} {
			if flags.Changed(list.flag) {
				*list.target = *list.value
			}
		}
		if err := s.SetPreferences(s.Ctx, s.catalog, s.user, p); err != nil {
			return err
		}
		return s.showPreferences(p)
	})
	return cmd
}

// showPreferences prints routing preferences.
func (s *session) showPreferences(p keychain.Preferences) error {
	p.PreferredProviders, p.ExcludedProviders, p.ExcludedModels = cli.List(p.PreferredProviders),
		cli.List(p.ExcludedProviders), cli.List(p.ExcludedModels)
	return s.Table(p, func(w io.Writer) {
		cli.Row(w, "Preferred providers:", strings.Join(p.PreferredProviders, ", "))
		cli.Row(w, "Excluded providers:", strings.Join(p.ExcludedProviders, ", "))
		cli.Row(w, "Excluded models:", strings.Join(p.ExcludedModels, ", "))
	})
}
