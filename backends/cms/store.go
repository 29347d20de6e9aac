package cms

// known is what scripts know of the settings.
func (s *Server) known() map[string]any {
	now := s.settings.Current()
	return map[string]any{"endpoint": now.Mount(), "auth": now.Mode(), "debug": now.Debug}
}
