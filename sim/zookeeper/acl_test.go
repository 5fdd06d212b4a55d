package zookeeper

import (
	"slices"
	"testing"
)

func TestValidID(t *testing.T) {
	for id, want := range map[ID]bool{
		{"digest", "user:x"}: true, {"digest", ":x"}: true, {"digest", "user:x:"}: true,
		{"digest", "user"}: false, {"digest", "user:"}: false, {"digest", "a:b:c"}: false, {"digest", ""}: false,
		{"ip", "127.0.0.1"}: true, {"ip", "10.0.0.0/8"}: true, {"ip", "::1/128"}: true,
		{"ip", "10.0.0.0/33"}: false, {"ip", "10.0.0.0/x"}: false, {"ip", "host"}: false,
		{"world", "somebody"}: false, {"x509", "CN=a"}: false,
	} {
		if got := validID(id); got != want {
			t.Errorf("%v: %v", id, got)
		}
	}
}

func TestAllowed(t *testing.T) {
	user, at := Digest("user:password"), ID{"ip", "10.1.2.3"}
	for _, test := range []struct {
		acl  []ACL
		perm int32
		ids  []ID
		want bool
	}{
		{nil, PermWrite, nil, true},
		{openACL, PermAdmin, nil, true},
		{readACL, PermWrite, []ID{user, at}, false},
		{readACL, PermRead | PermAdmin, nil, true}, // one of them is enough
		{[]ACL{{PermWrite, user}}, PermWrite, []ID{at, user}, true},
		{[]ACL{{PermWrite, user}}, PermRead, []ID{at, user}, false},
		{[]ACL{{PermWrite, user}}, PermWrite, []ID{Digest("user:other")}, false},
		{[]ACL{{PermAll, ID{"ip", "10.0.0.0/8"}}}, PermRead, []ID{at}, true},
		{[]ACL{{PermAll, ID{"ip", "10.1.2.4"}}}, PermRead, []ID{at}, false},
	} {
		if got := allowed(test.acl, test.perm, test.ids); got != test.want {
			t.Errorf("%v for %d by %v: %v", test.acl, test.perm, test.ids, got)
		}
	}
}

func TestDigest(t *testing.T) {
	// The well-known example of ZooKeeper's manual.
	if got := Digest("super:admin").Name; got != "super:xQJmxLMiHGwaqBvst5y6rkB6HQs=" {
		t.Error(got)
	}
}

func TestResolveACL(t *testing.T) {
	c := NewClient(1, "10.1.2.3")
	auth := []ACL{{PermAll, ID{"auth", ""}}, {PermRead, anyone}, {PermRead, anyone}}
	if _, code := resolveACL(auth, c.ids); code != InvalidACL {
		t.Errorf("without an identity: %v", code)
	}
	c.authenticate("digest", []byte("user:password"))
	got, code := resolveACL(auth, c.ids)
	want := []ACL{{PermAll, Digest("user:password")}, {PermRead, anyone}}
	if code != OK || !slices.Equal(got, want) {
		t.Errorf("%v %v", got, code)
	}
	if got := masked(got); got[0].Name != "user:x" || got[1] != want[1] {
		t.Errorf("masked: %v", got)
	}
}
