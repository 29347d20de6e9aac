package keychain

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// userCommands returns the commands that manage users.
func userCommands(o *options) *cobra.Command {
	add := &cobra.Command{
		Use:   "add <id>",
		Short: "Adds a user and prints their first gateway key, which is shown only once",
		Args:  cobra.ExactArgs(1),
		RunE: o.Run(o.withKeychain(func(s *session, _ *cobra.Command, args []string) error {
			user, key, created, err := s.InitUser(s.Ctx, args[0])
			if err != nil {
				return err
			}
			if !created {
				return fmt.Errorf("the user %q already exists; create another key with: tollgate keychain keys create --user %s",
					user.ID, user.ID)
			}
			return s.Table(struct {
				User keychain.User    `json:"user"`
				Key  *keychain.NewKey `json:"key"`
			}{user, key}, func(w io.Writer) { showNewKey(w, key) })
		})),
	}
	var search string
	list := &cobra.Command{
		Use:   "list [--find <text>]",
		Short: "Lists the users",
		Args:  cobra.NoArgs,
		RunE: o.run(func(s *session, _ *cobra.Command, _ []string) error {
			users, err := keychain.AllPages(
				func(afterID string, limit int) ([]keychain.User, error) {
					return s.Users(s.Ctx, search, afterID, limit)
				},
				func(u keychain.User) string { return u.ID })
			if err != nil {
				return err
			}
			if len(users) == 0 && search == "" {
				s.Note("There are no users yet; add one with: tollgate keychain users add <id>")
			}
			return s.Table(cli.List(users), func(w io.Writer) {
				cli.Row(w, "USER", "MAIL ADDRESS", "NAME", "STATE", "CREATED")
				for _, u := range users {
					state := "active"
					switch {
					case u.SuspendedAt != nil:
						state = "suspended " + formatTime(u.SuspendedAt)
					case u.WaitingSince != nil:
						state = "waiting since " + formatTime(u.WaitingSince)
					}
					cli.Row(w, u.ID, u.Email, u.Name, state, formatTime(&u.CreatedAt))
				}
			})
		}),
	}
	list.Flags().StringVar(&search, "find", "", "Part of the id, mail address or name")
	suspend := o.userCommand("suspend <user>", "Suspends a user: all their requests are refused; their data is kept",
		"is suspended. A running server refuses their requests within five seconds.",
		func(s *session) error { return s.SuspendUser(s.Ctx, s.user) })
	resume := o.userCommand("resume <user>", "Reactivates a suspended user, or approves one who is waiting", "is active.",
		func(s *session) error { return s.ResumeUser(s.Ctx, s.user) })
	remove := o.userCommand("remove <user>",
		"Removes a user with their keys, models, preferences and limits; their usage is kept", "is removed.",
		func(s *session) error { return s.RemoveUser(s.Ctx, s.user) })
	return cli.Group(&cobra.Command{Use: "users", Short: "Adds, invites, lists, limits, suspends and removes users"},
		add, invite(o), invitations(o), withdraw(o), list, limitUser(o), suspend, resume, remove)
}

// userCommand returns a subcommand that calls change for the user with the id or mail address in its argument. done
// completes the printed sentence "The user <id> …".
func (o *options) userCommand(use, short, done string, change func(s *session) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: o.run(func(s *session, _ *cobra.Command, args []string) error {
			id, err := s.setUser(args[0])
			if err != nil {
				return err
			}
			if err := change(s); err != nil {
				return err
			}
			return s.Table(map[string]string{"user_id": id}, func(w io.Writer) {
				_, _ = fmt.Fprintf(w, "The user %s %s\n", cli.Cell(id), done)
			})
		}),
	}
}

// keyCommands returns the commands that manage gateway keys of users.
func keyCommands(o *options) *cobra.Command {
	list := &cobra.Command{
		Use:   "list --user <id>",
		Short: "Lists the gateway keys of a user, masked, including revoked ones",
		Args:  cobra.NoArgs,
		RunE: o.runForUser(func(s *session) error {
			keys, err := s.Keys(s.Ctx, s.user)
			if err != nil {
				return err
			}
			return s.Table(cli.List(keys), func(w io.Writer) { showKeys(w, keys...) })
		}),
	}
	revoke := &cobra.Command{
		Use:   "revoke <key id> --user <id>",
		Short: "Revokes a gateway key permanently",
		Args:  cobra.ExactArgs(1),
		RunE: o.run(func(s *session, _ *cobra.Command, args []string) error {
			if err := s.RevokeKey(s.Ctx, s.user, args[0]); err != nil {
				return err
			}
			return s.Table(map[string]any{"id": args[0], "revoked": true}, func(w io.Writer) {
				_, _ = fmt.Fprintf(w, "%s was revoked. A running server refuses it within five seconds.\n", cli.Cell(args[0]))
			})
		}),
	}
	rotate := &cobra.Command{
		Use:   "rotate --user <id>",
		Short: "Replaces the primary key of a user and prints the new one, which is shown only once",
		Args:  cobra.NoArgs,
		RunE: o.run(func(s *session, _ *cobra.Command, _ []string) error {
			key, err := s.RegenerateKey(s.Ctx, s.user)
			if err != nil {
				return err
			}
			return s.Table(key, func(w io.Writer) { showNewKey(w, key) })
		}),
	}
	return cli.Group(&cobra.Command{Use: "keys", Short: "Manages the gateway keys that clients send"},
		o.forUser(createKey(o)), o.forUser(list), o.forUser(updateKey(o)), o.forUser(revoke), o.forUser(rotate))
}

// createKey returns the command that creates a gateway key.
func createKey(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create --user <id> [--label <text>] [--rate-limit <n>] [--expires <when>] [--allow <model>,…] [--usd-per-day <amount>] [--team <name>] …",
		Short: "Creates a gateway key, and the user if necessary, and prints the key once",
		Long: `
Creates a gateway key and prints it, which is shown only once. A user who does not
exist yet is created first, except by a mail address: that must be the id of a user, or
the address that an identity provider has confirmed for one. To make a user whose id is
a mail address, run: tollgate keychain users add

The limits are imposed: the user sees them but cannot change them, and replacements of
the key share them. With --own they are the user's own. To limit all keys of a user
together, run: tollgate keychain users limit
`,
		Args: cobra.NoArgs,
	}
	flags := newKeyFlags(cmd.Flags())
	team := cmd.Flags().String("team", "", "Team that the key counts for, by name or id (default: the user's)")
	cmd.RunE = o.Run(o.withKeychain(func(s *session, _ *cobra.Command, _ []string) error {
		options, err := flags.options()
		if err != nil {
			return err
		}
		if *team != "" {
			found, err := s.Team(s.Ctx, *team)
			if err != nil {
				return err
			}
			options.TeamID = found.ID
		}
		options.Catalog = s.catalog
		key, err := s.CreateKey(s.Ctx, s.user, options)
		if missingUser(err) {
			if strings.Contains(s.user, "@") {
				return fmt.Errorf("there is no user with the id or confirmed mail address %q; people have an address after "+
					"a sign-in at which their identity provider confirms it. To make a user with this id, run: "+
					"tollgate keychain users add %s", s.user, s.user)
			}
			key, err = s.createUser(flags, options)
		}
		if err != nil {
			return err
		}
		return s.Table(key, func(w io.Writer) { showNewKey(w, key) })
	}))
	return cmd
}

// createUser creates the user, and gives the options to the gateway key that is created with every user. It creates no
// additional key, because then that first key would never be shown to anybody.
func (s *session) createUser(flags *keyFlags, options keychain.KeyOptions) (*keychain.NewKey, error) {
	change, err := flags.change()
	if err != nil {
		return nil, err
	}
	change.Catalog = s.catalog
	_, key, created, err := s.InitUser(s.Ctx, s.user)
	if err != nil {
		return nil, err
	}
	if !created { // another process has created the user in the meantime
		return s.CreateKey(s.Ctx, s.user, options)
	}
	changed, err := s.UpdateKey(s.Ctx, s.user, key.ID, change)
	if err != nil {
		return nil, err
	}
	s.Note("The user %q did not exist and was created; this is their first key.", s.user)
	return &keychain.NewKey{GatewayKey: *changed, Key: key.Key}, nil
}

// updateKey returns the command that changes a gateway key.
func updateKey(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update <key id> --user <id> [--label <text>] [--rate-limit <n> | --no-rate-limit] [--expires <when>] [--allow <model>,…] …",
		Short: "Changes a gateway key; settings without a flag stay as they are",
		Long: `
Changes a gateway key. Settings without a flag stay as they are.

The flags change the limits imposed on the key and on the keys that share them. With
--own they change the user's own limits.
`,
		Args: cobra.ExactArgs(1),
	}
	flags := newKeyFlags(cmd.Flags())
	cmd.Flags().Bool("no-rate-limit", false, "Remove the limit of requests a minute")
	cmd.MarkFlagsMutuallyExclusive("rate-limit", "no-rate-limit")
	cmd.MarkFlagsOneRequired(append(limitFlagNames, "label", "effort-mode", "no-rate-limit")...)
	cmd.RunE = o.run(func(s *session, _ *cobra.Command, args []string) error {
		change, err := flags.change()
		if err != nil {
			return err
		}
		change.Catalog = s.catalog
		key, err := s.UpdateKey(s.Ctx, s.user, args[0], change)
		if err != nil {
			return err
		}
		return s.Table(key, func(w io.Writer) { showKeys(w, *key) })
	})
	return cmd
}

// showNewKey prints a key that was just created, with its text.
func showNewKey(w io.Writer, key *keychain.NewKey) {
	cli.Row(w, "User:", key.UserID)
	cli.Row(w, "Key id:", key.ID)
	cli.Row(w, "Label:", key.Label)
	showOptions(w, &key.GatewayKey)
	cli.Row(w, "Gateway key:", key.Key+"   (shown only once)")
}

// showKeys prints a table of gateway keys.
func showKeys(w io.Writer, keys ...keychain.GatewayKey) {
	cli.Row(w, "KEY ID", "LABEL", "KEY", "PRIMARY", "REQUESTS/MIN", "MODELS", "BUDGETS", "IMPOSED", "EFFORT MODE", "STATE",
		"EXPIRES", "CREATED", "LAST USED")
	for i := range keys {
		k := &keys[i]
		models := "all"
		if k.AllowedModels != nil {
			models = strings.Join(k.AllowedModels, ", ")
		}
		cli.Row(w, k.ID, k.Label, k.Masked, cli.Yes(k.IsPrimary), perMinute(k.RateLimitPerMinute), models,
			budgetText(&k.Budgets), imposedText(k), k.EffortMode, k.Status,
			formatTime(k.ExpiresAt), formatTime(&k.CreatedAt), formatTime(k.LastUsedAt))
	}
}

// perMinute formats a limit, which may be nil.
func perMinute(limit *int64) string {
	if limit == nil {
		return "unlimited"
	}
	return fmt.Sprint(*limit)
}

// formatTime formats a time in UTC, to the second. It returns "never" for nil.
func formatTime(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}
