package keychain

import (
	"cmp"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// limitHolder is the key, user, team or organisation on which a command imposes limits.
type limitHolder struct {
	kind, id string
	name     string // for messages
}

// limitCommand completes cmd, a command that shows and changes the limits that the operator imposes on a holder. With
// the flag --until, the command replaces the limits only for a time. Such a replacement is called a raise. find
// returns the holder that the arguments name.
func limitCommand(
	o *options, cmd *cobra.Command, find func(s *session, args []string) (limitHolder, error),
) *cobra.Command {
	flags := newLimitFlags(cmd.Flags())
	removeAll, limitFlags := addRemovers(cmd, limitFlagNames, "Remove all imposed limits")
	expiry := cmd.Flags().String("until", "",
		"Impose the given limits only until this time, such as 2027-01-31 or 7d, in place of the usual ones; none ends this")
	cmd.MarkFlagsMutuallyExclusive("lift", "until")
	cmd.RunE = o.run(func(s *session, cmd *cobra.Command, args []string) error {
		holder, err := find(s, args)
		if err != nil {
			return err
		}
		if *expiry != "" {
			if err := s.raise(holder, flags, *expiry); err != nil {
				return err
			}
		}
		limits, err := s.ImposedLimits(s.Ctx, holder.kind, holder.id)
		if err != nil {
			return err
		}
		hasFlags := slices.ContainsFunc(limitFlags, cmd.Flags().Changed)
		if hasFlags && *expiry == "" { // with --until the flags were for the raise
			change, err := flags.change()
			if err != nil {
				return err
			}
			change.Catalog = s.catalog
			if *removeAll {
				change.Limits = func(l *keychain.Limits) { *l = keychain.Limits{} }
			}
			if limits, err = s.Impose(s.Ctx, holder.kind, holder.id, change); err != nil {
				return err
			}
		}
		raise, err := s.RaiseOf(s.Ctx, holder.kind, holder.id)
		if err != nil {
			return err
		}
		return s.Table(struct {
			On     string `json:"on"`
			ID     string `json:"id"`
			UserID string `json:"user_id,omitempty"`
			keychain.Limits
			Raise *keychain.Raise `json:"raise,omitempty"`
		}{holder.kind, holder.id, s.user, limits, raise}, func(w io.Writer) {
			cli.Row(w, "Imposed on the "+holder.name+":", cmp.Or(limitsText(&limits), "none"))
			if raise != nil {
				cli.Row(w, "Until "+formatTime(&raise.Until)+":", limitsText(&raise.Limits))
			}
		})
	})
	return cmd
}

// raise imposes the limits in flags on a holder until expiry, instead of the usual limits. If expiry is "none", the
// usual limits apply again.
func (s *session) raise(holder limitHolder, flags *keyFlags, expiry string) error {
	if expiry == none {
		return s.SetRaise(s.Ctx, holder.kind, holder.id, nil, nil)
	}
	end, err := parseEnd(expiry, time.Now())
	if err != nil {
		return err
	}
	limits, err := flags.read(time.Now())
	if err != nil {
		return err
	}
	return s.SetRaise(s.Ctx, holder.kind, holder.id, &keychain.Raise{Until: end, Limits: limits}, s.catalog)
}

// limitFlagsUsage represents the flags of newLimitFlags in a usage line.
const limitFlagsUsage = "[--rate-limit <n> | --no-rate-limit] [--expires <when>] [--allow <model>,…] [--usd-per-month <amount>] … [--until <when>] | --lift"

// limitUser returns the command that imposes limits on a user.
func limitUser(o *options) *cobra.Command {
	return limitCommand(o, &cobra.Command{
		Use:   "limit <user> " + limitFlagsUsage,
		Short: "Imposes limits on a user, or shows them if no flag is given",
		Long: `
Imposes limits on a user. All their keys share them, including keys made later, and the
user cannot change them. Limits without a flag stay as they are; --lift removes all of
them, and --until changes them for a limited time. Without flags it shows the limits.
`,
		Args: cobra.ExactArgs(1),
	}, func(s *session, args []string) (limitHolder, error) {
		id, err := s.setUser(args[0])
		return limitHolder{keychain.OnUser, id, "user " + id}, err
	})
}

// limitTeam returns the command that imposes limits on a team.
func limitTeam(o *options) *cobra.Command {
	return limitCommand(o, &cobra.Command{
		Use:   "limit <team> " + limitFlagsUsage,
		Short: "Imposes limits on a team, or shows them if no flag is given",
		Long: `
Imposes limits on a team, which all requests that count for the team share. No member
can change them. Limits without a flag stay as they are; --lift removes all of them.
Without flags it shows the limits.
`,
		Args: cobra.ExactArgs(1),
	}, func(s *session, args []string) (limitHolder, error) {
		team, err := s.Team(s.Ctx, args[0])
		return limitHolder{keychain.OnTeam, team.ID, "team " + team.Name}, err
	})
}

// organisationCommands returns the command that imposes limits on the organisation.
func organisationCommands(o *options) *cobra.Command {
	limit := limitCommand(o, &cobra.Command{
		Use:   "limit " + limitFlagsUsage,
		Short: "Imposes limits on the organisation, or shows them if no flag is given",
		Long: `
Imposes limits on the organisation, which all requests to the gateway share. Limits
without a flag stay as they are; --lift removes all of them. Without flags it shows
the limits.
`,
		Args: cobra.NoArgs,
	}, func(*session, []string) (limitHolder, error) {
		return limitHolder{keychain.OnOrganisation, keychain.Organisation, "organisation"}, nil
	})
	return cli.Group(&cobra.Command{Use: "organisation", Short: "Limits the organisation: all users together"}, limit)
}
