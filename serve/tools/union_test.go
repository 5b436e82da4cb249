package tools

import (
	"testing"
	"testing/fstest"
)

func TestUnion(t *testing.T) {
	trees := map[string]Files{
		"a": {FS: fstest.MapFS{"x/one.md": {Data: []byte("one")}}, FullPath: URI("a")},
		"b": {FS: fstest.MapFS{"two.md": {Data: []byte("two")}}, FullPath: URI("b")},
	}
	u := Union(trees)
	if err := fstest.TestFS(u.FS, "a/x/one.md", "b/two.md"); err != nil {
		t.Error(err)
	}
	if got := u.FullPath("a/x/one.md"); got != "larder://a/x/one.md" {
		t.Errorf("full path %s", got)
	}
	if one := Union(map[string]Files{"a": trees["a"]}); one.FullPath("x/one.md") != "larder://a/x/one.md" {
		t.Error("a single tree changed")
	}
	for _, bad := range []string{"c", "../a", "a/../b", "c/two.md", ""} {
		if _, err := u.FS.Open(bad); err == nil {
			t.Errorf("%q opened", bad)
		}
	}
}
