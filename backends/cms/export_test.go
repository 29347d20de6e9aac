package cms

import "github.com/tollgate-gateway/tollgate/backends/cms/settings"

// Settings returns the settings of the site.
func (s *Server) Settings() *settings.Store { return s.settings }
