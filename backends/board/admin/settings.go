package admin

import (
	"context"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// ChangeSettings changes the settings in values, whose keys are the names of kernel.AllSettings. If a value is invalid
// nothing changes, and the error lists all faults. match is checked against the Tag of the current settings, unless
// nothing changes. A board that is offline by its configuration stays offline.
func (s *Service) ChangeSettings(
	ctx context.Context, a *rights.Actor, values map[string]string, match rest.Match,
) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		before, err := kernel.LoadSettings(c, kernel.DefaultSettings(s.Options))
		if err != nil {
			return err
		}
		set, given := before, 0
		if s.Options.Offline { // the configuration decides, not the administrators
			delete(values, kernel.SettingOffline)
		}
		var wrong []error
		for _, setting := range kernel.AllSettings() {
			value, ok := values[setting.Name]
			if !ok {
				continue
			}
			given++
			if err := setting.Put(&set, value); err != nil {
				wrong = append(wrong, err)
			}
		}
		if given != len(values) {
			return kernel.Invalid("name", "unknown", "there is no such setting")
		}
		if len(wrong) == 0 {
			wrong = set.Contradictions()
		}
		if len(wrong) > 0 {
			return apierror.Join(wrong...)
		}
		if set == before {
			return nil
		}
		seen := before
		seen.Offline = seen.Offline || s.Options.Offline // the form shows the effective value, see rights.Access
		if err := match.Check(seen.Tag()); err != nil {
			return err
		}
		return s.storeSettings(c, a, &before, &set)
	})
}

// storeSettings stores the settings that differ between before and after, and records them in the log.
func (s *Service) storeSettings(c store.Conn, a *rights.Actor, before, after *kernel.Settings) error {
	defaults := kernel.DefaultSettings(s.Options)
	var changes []string
	for _, setting := range kernel.AllSettings() {
		from, to := setting.Value(before), setting.Value(after)
		if from == to {
			continue
		}
		changes = append(changes, setting.Name+": "+kernel.Brief(from)+" → "+kernel.Brief(to))
		var err error
		if to == setting.Value(&defaults) { // so that a change of the configuration takes effect
			_, err = c.Exec("DELETE FROM board_settings WHERE name = ?", setting.Name)
		} else {
			_, err = c.Exec("INSERT INTO board_settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE"+
				" SET value = excluded.value", setting.Name, to)
		}
		if err != nil {
			return err
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return s.rights.Note(c, a, "settings.change", strings.Join(changes, "; "))
}
