package zookeeper

import "testing"

func TestValidPath(t *testing.T) {
	for path, want := range map[string]bool{
		"/": true, "/a": true, "/a/b": true, "/.a": true, "/a.": true, "/a..b": true, "/...": true, "/日本": true,
		"/a b": true, "/a\u00a0": true,
		"": false, "a": false, "/a/": false, "//": false, "//a": false, "/a//b": false, "/.": false, "/..": false,
		"/a/./b": false, "/a/../b": false, "/a/.": false, "/a/..": false, "/\x00": false, "/a\x1f": false,
		"/a\x7f": false, "/a\u009f": false, "/\ue000": false, "/\ufff0": false, "/\U0001f512": false,
	} {
		if got := validPath(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

func TestSequentialName(t *testing.T) {
	for number, want := range map[int32]string{
		0: "n0000000000", 7: "n0000000007", 2147483647: "n2147483647", -2147483648: "n-2147483648",
		-1: "n-000000001", -2147483647: "n-2147483647",
	} {
		if got := sequentialName("n", number); got != want {
			t.Errorf("%d: %s, want %s", number, got, want)
		}
	}
}
