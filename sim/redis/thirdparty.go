package redis

// ThirdParty executes a command as somebody would who is no client of the harness. It is observed as a command of
// connection 0. The reply is decoded.
func (s *Server) ThirdParty(args ...string) any {
	reply, _, _ := s.newConn(0, nil).Command(args)
	return reply
}
