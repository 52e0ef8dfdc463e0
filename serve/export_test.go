package serve

// LogsInUse returns how many logs are in use.
func (s *Server) LogsInUse() int {
	logs := s.service.logs
	logs.mu.Lock()
	defer logs.mu.Unlock()
	return len(logs.open)
}
