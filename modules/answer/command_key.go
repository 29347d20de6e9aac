package answer

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// keyCommands returns the command tollgate answer key.
func keyCommands(o *options) *cobra.Command {
	return cli.Group(&cobra.Command{Use: "key", Short: "Manages the keys of clients"},
		createKeyCommand(o), listKeysCommand(o), revokeKeyCommand(o))
}

// shownKey is a key in the output.
type shownKey struct {
	ID        int64     `json:"id"`
	Account   string    `json:"account"`
	Label     string    `json:"label"`
	Key       string    `json:"key,omitempty"` // only in the output of the command or request that creates it
	Lookup    string    `json:"lookup"`        // the part of the key after "ans_", by which it is found
	Services  []string  `json:"services"`
	Limit     int64     `json:"limit"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
}

// shown returns the description of a key for the output. Its field for the secret key stays empty.
func shown(k accounts.Key) shownKey {
	return shownKey{
		k.ID, k.Account, k.Label, "", k.Lookup, k.Services, k.Limit, k.CreatedAt.UTC(), k.ExpiresAt,
		k.RevokedAt,
	}
}

// createKeyCommand returns the command tollgate answer key create.
func createKeyCommand(o *options) *cobra.Command {
	var n accounts.NewKey
	var limit int64
	var expires time.Duration
	cmd := &cobra.Command{
		Use:   "create --label <name> [--account <name>] [--limit <n>] [--expires <duration>] [--service <name>]...",
		Args:  cobra.NoArgs,
		Short: "Creates a key and prints it, which is shown only once",
		Long: `
Creates a key for an account, and the account if it does not exist, and prints the key.
The keys of an account share its quota: --limit sets the number of answers in a window
for all of them, with immediate effect; 0 allows none, and -1 is unlimited.
`,
	}
	cmd.Flags().StringVar(&n.Label, "label", "", "What the key is for")
	cmd.Flags().StringVar(&n.Account, "account", "", "Account of the key (default: the label)")
	cmd.Flags().Int64Var(&limit, "limit",
		0, "Answers of the account in a window; -1 is unlimited (default: unchanged, 1000 for a new account)")
	cmd.Flags().DurationVar(&expires, "expires", 0, "Lifetime of the key, such as 720h (default: no expiry)")
	cmd.Flags().StringSliceVar(&n.Services, "service", nil, "Allowed services: answer, quota (default: both)")
	cli.Required(cmd, "label")
	cmd.RunE = o.run(func(s *session, cmd *cobra.Command, _ []string) error {
		if expires < 0 {
			return errors.New("--expires must be positive")
		}
		if cmd.Flags().Changed("limit") {
			n.Limit = &limit
		}
		if expires > 0 {
			n.Expires = time.Now().Add(expires)
		}
		key, created, err := s.Accounts.Create(s.Ctx, n)
		if err != nil {
			return err
		}
		answer := shown(created)
		answer.Key = key
		return s.Result(answer, key, "The key is shown only once. Clients send it as x-api-key.")
	})
	return cmd
}

// listKeysCommand returns the command "tollgate answer key list".
func listKeysCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "list", Args: cobra.NoArgs,
		Short: "Lists the keys, newest first",
		RunE: o.run(func(s *session, _ *cobra.Command, _ []string) error {
			list, err := s.Accounts.Keys(s.Ctx)
			if err != nil {
				return err
			}
			rows := make([]shownKey, len(list))
			for i, k := range list {
				rows[i] = shown(k)
			}
			return s.Table(rows, func(w io.Writer) {
				cli.Row(w, "ID", "ACCOUNT", "LABEL", "KEY", "SERVICES", "LIMIT", "STATE")
				for _, k := range rows {
					limit := strconv.FormatInt(k.Limit, 10)
					if k.Limit == accounts.Unlimited {
						limit = "none"
					}
					cli.Row(w, k.ID, cli.Cell(k.Account), cli.Cell(k.Label), "ans_"+k.Lookup+"_…",
						strings.Join(k.Services, " "), limit, state(k))
				}
			})
		}),
	}
}

// state returns whether a key can be used, for the table of keys.
func state(k shownKey) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked"
	case !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(time.Now()):
		return "expired"
	}
	return "works"
}

// revokeKeyCommand returns the command tollgate answer key revoke.
func revokeKeyCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "revoke <id or key>", Args: cobra.ExactArgs(1),
		Short: "Revokes a key, at once and on all nodes",
		RunE: o.run(func(s *session, _ *cobra.Command, args []string) error {
			id, _ := strconv.ParseInt(args[0], 10, 64) // 0 is the id of no key
			lookup, _, _ := strings.Cut(strings.TrimPrefix(args[0], "ans_"), "_")
			revoked, err := s.Accounts.Revoke(s.Ctx, id, lookup)
			if err == nil && !revoked {
				err = errors.New("there is no key with this id or text, or it is already revoked")
			}
			if err != nil {
				return err
			}
			return s.Answer(map[string]bool{"revoked": true},
				func(w io.Writer) { _, _ = io.WriteString(w, "The key was revoked.\n") })
		}),
	}
}
