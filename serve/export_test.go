package serve

// Touch lets the feed know that a conversation has changed.
func (s *Service) Touch(id string) { s.feed.touch(keyOf(id)) }

// LogsInUse returns how many logs are in use.
func (s *Server) LogsInUse() int {
	logs := s.service.logs
	logs.mu.Lock()
	defer logs.mu.Unlock()
	return len(logs.open)
}
