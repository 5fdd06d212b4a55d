package zookeeper

import (
	"crypto/sha1"
	"encoding/base64"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Permissions of an ACL.
const (
	PermRead int32 = 1 << iota
	PermWrite
	PermCreate
	PermDelete
	PermAdmin
	PermAll int32 = 31
)

// ID names somebody: by the scheme "world" everybody, by "digest" a user, by "ip" a network.
type ID struct{ Scheme, Name string }

// ACL grants permissions to an ID.
type ACL struct {
	Perms int32
	ID
}

var (
	anyone  = ID{"world", "anyone"}
	openACL = []ACL{{PermAll, anyone}}
	readACL = []ACL{{PermRead, anyone}}
)

// allowed tells whether somebody who goes by the given identities has one of the permissions. Nobody is asked for more
// than that when the list is empty.
func allowed(list []ACL, perm int32, ids []ID) bool {
	if len(list) == 0 {
		return true
	}
	for _, a := range list {
		if a.Perms&perm == 0 {
			continue
		}
		if a.ID == anyone {
			return true
		}
		for _, id := range ids {
			if id.Scheme == a.Scheme && matches(id, a.Name) {
				return true
			}
		}
	}
	return false
}

// matches tells whether an identity is what an ACL of its scheme speaks of.
func matches(id ID, pattern string) bool {
	switch id.Scheme {
	case "digest":
		return id.Name == pattern
	case "ip":
		network, ok := parseNetwork(pattern)
		address, err := netip.ParseAddr(id.Name)
		return ok && err == nil && network.Contains(address)
	}
	return false
}

// parseNetwork reads the name of an "ip" ACL: an address, or an address and a number of bits.
func parseNetwork(s string) (netip.Prefix, bool) {
	host, length, cut := strings.Cut(s, "/")
	address, err := netip.ParseAddr(host)
	if err != nil || address.Zone() != "" {
		return netip.Prefix{}, false
	}
	bits := address.BitLen()
	if cut {
		if bits, err = strconv.Atoi(length); err != nil || bits < 0 || bits > address.BitLen() {
			return netip.Prefix{}, false
		}
	}
	return netip.PrefixFrom(address, bits), true
}

// resolveACL checks the ACL of a request and replaces the scheme "auth" by the identities that the client has proved.
func resolveACL(list []ACL, ids []ID) ([]ACL, Code) {
	if len(list) == 0 {
		return nil, InvalidACL
	}
	if len(list) == 1 && list[0].ID == anyone {
		return list, OK
	}
	var resolved []ACL
	for i, a := range list {
		switch {
		case slices.Contains(list[:i], a): // a duplicate
		case a.ID == anyone:
			resolved = append(resolved, a)
		case a.Scheme == "auth":
			before := len(resolved)
			for _, id := range ids {
				if id.Scheme == "digest" {
					resolved = append(resolved, ACL{a.Perms, id})
				}
			}
			if len(resolved) == before {
				return nil, InvalidACL
			}
		case validID(a.ID):
			resolved = append(resolved, a)
		default:
			return nil, InvalidACL
		}
	}
	return resolved, OK
}

// validID tells whether an ID can stand in an ACL.
func validID(id ID) bool {
	switch id.Scheme {
	case "digest":
		// Java drops empty parts at the end of what it splits.
		parts := strings.Split(strings.TrimRight(id.Name, ":"), ":")
		return len(parts) == 2
	case "ip":
		_, ok := parseNetwork(id.Name)
		return ok
	}
	return false
}

// Digest is the ID of a user under the scheme "digest", from user:password.
func Digest(credentials string) ID {
	user, _, _ := strings.Cut(credentials, ":")
	sum := sha1.Sum([]byte(credentials))
	return ID{"digest", user + ":" + base64.StdEncoding.EncodeToString(sum[:])}
}

// authenticate proves an identity to the server.
func (c *Client) authenticate(scheme string, credentials []byte) bool {
	switch {
	case scheme == "digest" && credentials != nil:
		c.prove(Digest(string(credentials)))
		return true
	case scheme == "ip":
		return true // known since the client connected
	}
	return false
}

// prove adds an identity. They are listed in the order of a Java hash set.
func (c *Client) prove(id ID) {
	if slices.Contains(c.ids, id) {
		return
	}
	c.proved = append(c.proved, id)
	buckets := defaultBuckets
	for len(c.proved) >= buckets/4*3 {
		buckets *= 2
	}
	c.ids = append(c.ids[:0:0], c.proved...)
	slices.SortStableFunc(c.ids, func(a, b ID) int {
		return int(idHash(a)&uint32(buckets-1)) - int(idHash(b)&uint32(buckets-1))
	})
}

// idHash is the hash of an ID as ZooKeeper's generated code computes it.
func idHash(id ID) uint32 {
	return fold((17*37+javaHashWide(id.Scheme))*37 + javaHashWide(id.Name))
}

// masked hides the digests of an ACL from those who may read but not administer.
func masked(list []ACL) []ACL {
	hidden := slices.Clone(list)
	for i, a := range hidden {
		if user, _, cut := strings.Cut(a.Name, ":"); cut && a.Scheme == "digest" {
			hidden[i].Name = user + ":x"
		}
	}
	return hidden
}

// userOf is the name of a user without the digest.
func userOf(id ID) string {
	if id.Scheme != "digest" {
		return id.Name
	}
	user, _, _ := strings.Cut(id.Name, ":")
	return user
}
