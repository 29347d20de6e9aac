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
		oldSettings, err := kernel.LoadSettings(c, kernel.DefaultSettings(s.Options))
		if err != nil {
			return err
		}
		newSettings, known := oldSettings, 0
		if s.Options.Offline { // the configuration decides, not the administrators
			delete(values, kernel.SettingOffline)
		}
		var faults []error
		for _, setting := range kernel.AllSettings() {
			value, ok := values[setting.Name]
			if !ok {
				continue
			}
			known++
			if err := setting.Put(&newSettings, value); err != nil {
				faults = append(faults, err)
			}
		}
		if known != len(values) {
			return kernel.Invalid("name", "unknown", "the form names a setting that does not exist")
		}
		if len(faults) == 0 {
			faults = newSettings.Contradictions()
		}
		if len(faults) > 0 {
			return apierror.Join(faults...)
		}
		if newSettings == oldSettings {
			return nil
		}
		shown := oldSettings
		shown.Offline = shown.Offline || s.Options.Offline // the form shows the effective value, see rights.Access
		if err := match.Check(shown.Tag()); err != nil {
			return err
		}
		return s.storeSettings(c, a, &oldSettings, &newSettings)
	})
}

// storeSettings stores the settings that differ between oldSettings and newSettings, and records them in the log.
func (s *Service) storeSettings(c store.Conn, a *rights.Actor, oldSettings, newSettings *kernel.Settings) error {
	defaults := kernel.DefaultSettings(s.Options)
	var changes []string
	for _, setting := range kernel.AllSettings() {
		oldValue, newValue := setting.Value(oldSettings), setting.Value(newSettings)
		if oldValue == newValue {
			continue
		}
		changes = append(changes, setting.Name+": "+kernel.ForLog(oldValue)+" → "+kernel.ForLog(newValue))
		var err error
		if newValue == setting.Value(&defaults) { // so that a change of the configuration takes effect
			_, err = c.Exec("DELETE FROM board_settings WHERE name = ?", setting.Name)
		} else {
			_, err = c.Exec("INSERT INTO board_settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE"+
				" SET value = excluded.value", setting.Name, newValue)
		}
		if err != nil {
			return err
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return s.rights.LogChange(c, a, "settings.change", strings.Join(changes, "; "))
}
