package keychain

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// usersPage is how many users are read at a time.
const usersPage = 500

func userCommands(o *options) *cobra.Command {
	add := &cobra.Command{
		Use:   "add <id>",
		Short: "Makes a user and prints their first gateway key, this once",
		Args:  cobra.ExactArgs(1),
		RunE: o.run(func(s *session, _ *cobra.Command, args []string) error {
			user, key, created, err := s.InitUser(s.ctx, args[0])
			if err != nil {
				return err
			}
			if !created {
				return fmt.Errorf("there is a user %q already; make another key with: tollgate keychain keys create --user %s", user.ID, user.ID)
			}
			return s.answer(struct {
				User keychain.User    `json:"user"`
				Key  *keychain.NewKey `json:"key"`
			}{user, key}, func(w io.Writer) { showNewKey(w, key) })
		}),
	}
	all := &cobra.Command{
		Use:   "list",
		Short: "Lists the users",
		Args:  cobra.NoArgs,
		RunE: o.run(func(s *session, _ *cobra.Command, _ []string) error {
			var users []keychain.User
			for after, more := "", true; more; {
				page, err := s.Users(s.ctx, after, usersPage)
				if err != nil {
					return err
				}
				users = append(users, page...)
				if more = len(page) == usersPage; more {
					after = page[len(page)-1].ID
				}
			}
			if len(users) == 0 {
				s.note("There are no users yet; make one with: tollgate keychain users add <id>")
			}
			return s.answer(list(users), func(w io.Writer) {
				row(w, "USER", "CREATED")
				for _, u := range users {
					row(w, u.ID, when(&u.CreatedAt))
				}
			})
		}),
	}
	return group(&cobra.Command{Use: "users", Short: "Makes and lists users"}, add, all)
}

func keyCommands(o *options) *cobra.Command {
	all := &cobra.Command{
		Use:   "list --user <id>",
		Short: "Lists the gateway keys of a user, masked, revoked ones too",
		Args:  cobra.NoArgs,
		RunE: o.show(func(s *session) error {
			keys, err := s.Keys(s.ctx, s.user)
			if err != nil {
				return err
			}
			return s.answer(list(keys), func(w io.Writer) { showKeys(w, keys...) })
		}),
	}
	revoke := &cobra.Command{
		Use:   "revoke <key id> --user <id>",
		Short: "Ends a gateway key for good",
		Args:  cobra.ExactArgs(1),
		RunE: o.run(func(s *session, _ *cobra.Command, args []string) error {
			if err := s.RevokeKey(s.ctx, s.user, args[0]); err != nil {
				return err
			}
			return s.answer(map[string]any{"id": args[0], "revoked": true}, func(w io.Writer) {
				_, _ = fmt.Fprintf(w, "Revoked %s. A running server refuses it within five seconds.\n", cell(args[0]))
			})
		}),
	}
	rotate := &cobra.Command{
		Use:   "rotate --user <id>",
		Short: "Replaces the primary key of a user by a new one, printed this once",
		Args:  cobra.NoArgs,
		RunE: o.run(func(s *session, _ *cobra.Command, _ []string) error {
			key, err := s.RegenerateKey(s.ctx, s.user)
			if err != nil {
				return err
			}
			return s.answer(key, func(w io.Writer) { showNewKey(w, key) })
		}),
	}
	return group(&cobra.Command{Use: "keys", Short: "Manages the gateway keys that clients send"},
		o.forUser(createKey(o)), o.forUser(all), o.forUser(updateKey(o)), o.forUser(revoke), o.forUser(rotate))
}

func createKey(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create --user <id> [--label <text>] [--rate-limit <n>]",
		Short: "Makes a gateway key and prints it, this once; a new user is made first",
		Args:  cobra.NoArgs,
	}
	label := cmd.Flags().String("label", "", "What the key is for")
	limit := cmd.Flags().Int64("rate-limit", 0, "Requests a minute (default: unlimited)")
	cmd.RunE = o.run(func(s *session, cmd *cobra.Command, _ []string) error {
		var most *int64
		if cmd.Flags().Changed("rate-limit") {
			most = limit
		}
		key, err := s.CreateKey(s.ctx, s.user, *label, most)
		if missingUser(err) {
			key, err = s.firstKey(*label, most)
		}
		if err != nil {
			return err
		}
		return s.answer(key, func(w io.Writer) { showNewKey(w, key) })
	})
	return cmd
}

// firstKey makes the user. Their first key, which comes with them, is the one
// that was asked for: nobody would ever see another one.
func (s *session) firstKey(label string, limit *int64) (*keychain.NewKey, error) {
	_, key, created, err := s.InitUser(s.ctx, s.user)
	if err != nil {
		return nil, err
	}
	if !created { // somebody was faster
		return s.CreateKey(s.ctx, s.user, label, limit)
	}
	change := keychain.KeyChange{RateLimitPerMinute: limit}
	if label != "" {
		change.Label = &label
	}
	changed, err := s.UpdateKey(s.ctx, s.user, key.ID, change)
	if err != nil {
		return nil, err
	}
	s.note("There was no user %q, so it was made; this is its first key.", s.user)
	return &keychain.NewKey{GatewayKey: *changed, Key: key.Key}, nil
}

func updateKey(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update <key id> --user <id> [--label <text>] [--rate-limit <n> | --no-rate-limit] [--effort-mode <mode>]",
		Short: "Changes a gateway key",
		Args:  cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	label := flags.String("label", "", "What the key is for")
	limit := flags.Int64("rate-limit", 0, "Requests a minute")
	unlimited := flags.Bool("no-rate-limit", false, "Lifts the limit")
	mode := flags.String("effort-mode", "",
		"How output_config.effort and the model name choose the tier: override (the effort), model_wins, max_of_both")
	cmd.MarkFlagsMutuallyExclusive("rate-limit", "no-rate-limit")
	cmd.MarkFlagsOneRequired("label", "rate-limit", "no-rate-limit", "effort-mode")
	cmd.RunE = o.run(func(s *session, _ *cobra.Command, args []string) error {
		change := keychain.KeyChange{ClearRateLimit: *unlimited}
		if flags.Changed("label") {
			change.Label = label
		}
		if flags.Changed("rate-limit") {
			change.RateLimitPerMinute = limit
		}
		if flags.Changed("effort-mode") {
			effort := keychain.EffortMode(*mode)
			change.EffortMode = &effort
		}
		key, err := s.UpdateKey(s.ctx, s.user, args[0], change)
		if err != nil {
			return err
		}
		return s.answer(key, func(w io.Writer) { showKeys(w, *key) })
	})
	return cmd
}

func showNewKey(w io.Writer, key *keychain.NewKey) {
	row(w, "User:", key.UserID)
	row(w, "Key id:", key.ID)
	row(w, "Label:", key.Label)
	row(w, "Requests a minute:", perMinute(key.RateLimitPerMinute))
	row(w, "Gateway key:", key.Key+"   (shown this once)")
}

func showKeys(w io.Writer, keys ...keychain.GatewayKey) {
	row(w, "KEY ID", "LABEL", "KEY", "PRIMARY", "REQUESTS/MIN", "EFFORT MODE", "STATE", "CREATED", "LAST USED")
	for i := range keys {
		k := &keys[i]
		state := "active"
		if k.Revoked {
			state = "revoked"
		}
		row(w, k.ID, k.Label, k.Masked, yes(k.IsPrimary), perMinute(k.RateLimitPerMinute), k.EffortMode, state, when(&k.CreatedAt), when(k.LastUsedAt))
	}
}

func perMinute(limit *int64) string {
	if limit == nil {
		return "unlimited"
	}
	return fmt.Sprint(*limit)
}

// when is a time for people: UTC, to the second.
func when(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return at.UTC().Format("2006-01-02 15:04:05Z")
}
