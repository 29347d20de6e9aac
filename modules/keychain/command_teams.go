package keychain

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// teamCommands returns the commands that manage teams.
func teamCommands(o *options) *cobra.Command {
	add := &cobra.Command{
		Use:   "add <name>",
		Short: "Makes a team",
		Args:  cobra.ExactArgs(1),
		RunE: o.Run(o.withKeychain(func(s *session, _ *cobra.Command, args []string) error {
			team, err := s.AddTeam(s.Ctx, args[0])
			if err != nil {
				return err
			}
			return s.Table(team, func(w io.Writer) { showTeams(w, team) })
		})),
	}
	list := &cobra.Command{
		Use:   "list",
		Short: "Lists the teams",
		Args:  cobra.NoArgs,
		RunE: o.run(func(s *session, _ *cobra.Command, _ []string) error {
			teams, err := keychain.AllPages(
				func(afterName string, limit int) ([]keychain.Team, error) { return s.Teams(s.Ctx, afterName, limit) },
				func(t keychain.Team) string { return t.Name })
			if err != nil {
				return err
			}
			if len(teams) == 0 {
				s.Note("There are no teams yet; add one with: tollgate keychain teams add <name>")
			}
			return s.Table(cli.List(teams), func(w io.Writer) { showTeams(w, teams...) })
		}),
	}
	rename := o.teamCommand("rename <team> <new name>", "Renames a team", 2,
		func(s *session, team keychain.Team, args []string) (done string, err error) {
			return "The team " + team.Name + " is now called " + args[1] + ".", s.RenameTeam(s.Ctx, team.ID, args[1])
		})
	remove := o.teamCommand("remove <team>", "Removes a team and its limits; its members and its usage are kept", 1,
		func(s *session, team keychain.Team, _ []string) (done string, err error) {
			return "The team " + team.Name + " is removed.", s.RemoveTeam(s.Ctx, team.ID)
		})
	return cli.Group(&cobra.Command{
		Use: "teams", Short: "Adds, lists and limits teams, and manages their members and keys",
	},
		append([]*cobra.Command{add, list, rename, remove, members(o), join(o), leave(o), limitTeam(o), spendingCommand(o)},
			teamKeys(o)...)...)
}

// teamCommand returns a subcommand with the given number of arguments that changes the team named by the first one.
// change makes the change and returns a sentence to print.
func (o *options) teamCommand(
	use, short string, args int, change func(s *session, team keychain.Team, args []string) (done string, err error),
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(args),
		RunE: o.run(func(s *session, _ *cobra.Command, args []string) error {
			team, err := s.Team(s.Ctx, args[0])
			if err != nil {
				return err
			}
			done, err := change(s, team, args)
			if err != nil {
				return err
			}
			return s.Table(map[string]string{"team_id": team.ID}, func(w io.Writer) { _, _ = fmt.Fprintln(w, cli.Cell(done)) })
		}),
	}
}

// members returns the command that lists the members of a team.
func members(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "members <team>", Short: "Lists the members of a team", Args: cobra.ExactArgs(1),
		RunE: o.run(func(s *session, _ *cobra.Command, args []string) error {
			team, err := s.Team(s.Ctx, args[0])
			if err != nil {
				return err
			}
			list, err := keychain.AllPages(
				func(afterID string, limit int) ([]keychain.Member, error) {
					return s.Members(s.Ctx, team.ID, afterID, limit)
				},
				func(m keychain.Member) string { return m.UserID })
			if err != nil {
				return err
			}
			return s.Table(cli.List(list), func(w io.Writer) {
				cli.Row(w, "USER", "MAIL ADDRESS", "NAME", "ROLE", "DEFAULT TEAM", "SINCE")
				for _, m := range list {
					cli.Row(w, m.UserID, m.Email, m.Name, m.Role, cli.Yes(m.Default), formatTime(&m.AddedAt))
				}
			})
		}),
	}
}

// join returns the command that adds a user to a team.
func join(o *options) *cobra.Command {
	var member keychain.Membership
	cmd := o.teamCommand("join <team> <user>", "Adds a user to a team, or changes their role in it", 2,
		func(s *session, team keychain.Team, args []string) (done string, err error) {
			user, err := s.setUser(args[1])
			if err != nil {
				return "", err
			}
			return user + " is in the team " + team.Name + ".", s.SetMember(s.Ctx, team.ID, user, member)
		})
	cmd.Flags().StringVar(&member.Role, "role", "",
		"Role: admin (adds and removes members and sees the team's spending) or member (default: unchanged, member for a new one)")
	cmd.Flags().BoolVar(&member.Default, "default", false,
		"Make this the default team, which the user's keys count for unless they were made for another")
	return cmd
}

// leave returns the command that removes a user from a team.
func leave(o *options) *cobra.Command {
	return o.teamCommand("leave <team> <user>",
		"Removes a user from a team; their keys then count for their default team", 2,
		func(s *session, team keychain.Team, args []string) (done string, err error) {
			user, err := s.setUser(args[1])
			if err != nil {
				return "", err
			}
			return user + " is no longer in the team " + team.Name + ".", s.RemoveMember(s.Ctx, team.ID, user, true)
		})
}

// spendingCommand returns the command that reports the spending of all users.
func spendingCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report [--from <day>] [--to <day>] [--by <group>,…] [--limit <lines>] [--compare]",
		Short: "Reports the requests and spending of all users, by team, user, tag and so on",
		Args:  cobra.NoArgs,
	}
	period := newPeriodFlags(cmd.Flags())
	groups := cmd.Flags().StringSlice("by", nil,
		"Grouping: organisation, team, user, key, provider, model, tag, end_user, day, hour (default: team,model)")
	limit := cmd.Flags().Int("limit", spending.MaxLines, "Maximum number of lines")
	compare := cmd.Flags().Bool("compare", false, "Compare with the period of the same length before it")
	cmd.RunE = o.run(func(s *session, _ *cobra.Command, _ []string) error {
		q := spending.Query{By: *groups, Limit: *limit, Compare: *compare}
		if err := period.read(&q.From, &q.To); err != nil {
			return err
		}
		lines, err := s.spending.Spending(s.Ctx, q)
		if err != nil {
			return err
		}
		return s.Table(cli.List(lines), func(w io.Writer) {
			showSpending(w, &q, lines)
		})
	})
	return cmd
}

// showSpending prints a report with the columns that the query selects.
func showSpending(w io.Writer, q *spending.Query, lines []spending.Line) {
	type column struct {
		title string
		shown bool
		cell  func(l *spending.Line) any
	}
	// groupedBy reports whether the lines are grouped by one of the given names.
	groupedBy := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(q.By, name) })
	}
	byDefault := len(q.By) == 0 // the default: by team and model
	columns := []column{
		{"DAY", groupedBy("day"), func(l *spending.Line) any { return l.Day }},
		{"HOUR", groupedBy("hour"), func(l *spending.Line) any { return formatTime(l.Hour) }},
		{"TEAM", byDefault || groupedBy("team"), func(l *spending.Line) any { return teamName(l) }},
		{"USER", groupedBy("user"), func(l *spending.Line) any { return deref(l.UserID) }},
		{"KEY", groupedBy("key"), func(l *spending.Line) any { return deref(l.KeyID) }},
		{"TAG", groupedBy("tag"), func(l *spending.Line) any { return deref(l.Tag) }},
		{"END USER", groupedBy("end_user"), func(l *spending.Line) any { return deref(l.EndUser) }},
		{"PROVIDER", byDefault || groupedBy("provider", "model"), func(l *spending.Line) any { return deref(l.Provider) }},
		{"MODEL", byDefault || groupedBy("model"), func(l *spending.Line) any { return deref(l.Model) }},
		{"REQUESTS", true, func(l *spending.Line) any { return l.Requests }},
		{"SUCCEEDED", true, func(l *spending.Line) any { return l.Succeeded }},
		{"FAILED", true, func(l *spending.Line) any { return l.Failed }},
		{"TOKENS IN", true, func(l *spending.Line) any { return l.InputTokens }},
		{"CACHED", true, func(l *spending.Line) any { return l.CachedTokens }},
		{"WRITTEN", true, func(l *spending.Line) any { return l.WrittenTokens }},
		{"OUT", true, func(l *spending.Line) any { return l.OutputTokens }},
		{"REASONING", true, func(l *spending.Line) any { return l.ReasoningTokens }},
		{"USD", true, func(l *spending.Line) any { return l.CostUSD }},
		{"BEFORE", q.Compare, func(l *spending.Line) any { return l.Before.CostUSD }},
		{"USD/1M", true, func(l *spending.Line) any {
			if l.USDPerMillion == nil {
				return ""
			}
			return *l.USDPerMillion
		}},
		{"UNPRICED", true, func(l *spending.Line) any { return l.UnpricedRequests }},
	}
	columns = slices.DeleteFunc(columns, func(c column) bool { return !c.shown })
	printRow := func(cell func(c *column) any) {
		cells := make([]any, len(columns))
		for i := range columns {
			cells[i] = cell(&columns[i])
		}
		cli.Row(w, cells...)
	}
	printRow(func(c *column) any { return c.title })
	for i := range lines {
		printRow(func(c *column) any { return c.cell(&lines[i]) })
	}
}

// teamName returns the name of a line's team, or its id if the team was removed.
func teamName(l *spending.Line) string {
	if name := deref(l.Team); name != "" {
		return name
	}
	return deref(l.TeamID)
}

// deref returns *text, or an empty string if text is nil.
func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// showTeams prints a table of teams.
func showTeams(w io.Writer, teams ...keychain.Team) {
	cli.Row(w, "TEAM", "ID", "MEMBERS", "CREATED")
	for _, t := range teams {
		cli.Row(w, t.Name, t.ID, t.Members, formatTime(&t.CreatedAt))
	}
}
