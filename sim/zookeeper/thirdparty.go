package zookeeper

// MakePath creates a persistent node that anybody may do anything with, and those above it that are missing, as
// somebody would who is no client of the harness. It tells whether the node is there now.
func (s *Server) MakePath(path string) bool {
	if _, ok := parentOf(path); !ok {
		return false
	}
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if code := s.state.make(path[:i], s.now()); code != OK && code != NodeExists {
			return false
		}
		s.report(Executed{Op: OpCreate, Path: path[:i], Created: path[:i]})
		s.deliver()
	}
	return true
}

// make creates one persistent node.
func (s *State) make(path string, now Moment) Code {
	s.begin()
	parent, ok := parentOf(path)
	switch {
	case !ok || isSpecial(path):
		return BadArguments
	case s.tree.nodes[path] != nil:
		return NodeExists
	case s.tree.nodes[parent] == nil:
		return NoNode
	}
	s.zxid++
	s.createNode(&change{
		op: OpCreate, path: path, parent: parent, acl: openACL,
		creates: s.tree.nodes[parent].creates + 1,
	}, now)
	return OK
}
