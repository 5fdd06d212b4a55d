package zookeeper

import "strings"

// The nodes that a new tree has.
const (
	rootPath   = "/"
	systemPath = "/zookeeper"
	quotaPath  = "/zookeeper/quota"
	configPath = "/zookeeper/config"
)

// isSpecial tells whether a node can never be deleted.
func isSpecial(path string) bool {
	return path == rootPath || path == systemPath || path == quotaPath || path == configPath
}

// validPath tells whether a path may name a node: absolute, without empty or relative elements, no slash at its end,
// and no character that does not print.
func validPath(path string) bool {
	if path == rootPath {
		return true
	}
	if path == "" || path[0] != '/' || path[len(path)-1] == '/' {
		return false
	}
	for rest, more := path[1:], true; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		if name == "" || name == "." || name == ".." || strings.ContainsFunc(name, unprintable) {
			return false
		}
	}
	return true
}

// unprintable tells whether ZooKeeper refuses a character. Characters beyond the first plane are pairs of surrogates to
// it and refused as such.
func unprintable(r rune) bool {
	return r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0
}

// parentOf cuts a path at its last slash. The parent of a node below the root is "", which also names the root.
func parentOf(path string) (parent string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 || strings.IndexByte(path, 0) >= 0 {
		return "", false
	}
	return path[:i], true
}

// watchable is the parent as watches know it.
func watchable(parent string) string {
	if parent == "" {
		return rootPath
	}
	return parent
}
