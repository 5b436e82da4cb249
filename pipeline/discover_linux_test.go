package pipeline

import (
	"fmt"
	"strings"
	"testing"
)

// Other file systems change or refuse such names.

func TestDiscoverNFC(t *testing.T) {
	root := tree(t, "cafe\u0301/re\u0301sume\u0301.md")
	found, _, err := Discover(root, DefaultSettings("x"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if found[0].Path != "caf\u00e9/r\u00e9sum\u00e9.md" {
		t.Errorf("path %+q", found[0].Path)
	}
	if _, err := ReadSource(root, found[0], 100); err != nil {
		t.Error(err)
	}
}

func TestDiscoverNames(t *testing.T) {
	for _, c := range []struct {
		names []string
		words []string
	}{
		{[]string{"Readme.md", "README.md"}, []string{`"README.md" and "Readme.md" differ only in case`}},
		{[]string{"A/x.md", "a/X.md"}, []string{`"A/x.md" and "a/X.md"`}},
		{[]string{"caf\u00e9.md", "cafe\u0301.md"}, []string{"Unicode composition", "caf\u00e9.md", "cafe\u0301.md"}},
		{[]string{"STRA\u1e9eE.md", "stra\u00dfe.md"}, []string{"differ only in case"}},
		{[]string{"a\nb.md"}, []string{`file "a\nb.md" has control characters`}},
		{[]string{"a\x1bb/c.md"}, []string{`folder "a\x1bb" has control characters`}},
		{[]string{"a\xff.md"}, []string{`file "a\xff.md"`, "UTF-8"}},
		{[]string{"a\u202egpj.md"}, []string{`"a\u202egpj.md"`}},
		{[]string{"a\nb.md", "c.md", "C.md", "d\xff.md"}, []string{`"a\nb.md"`, `"C.md" and "c.md"`, `"d\xff.md"`}},
	} {
		root := tree(t, c.names...)
		_, _, err := Discover(root, DefaultSettings("x"))
		wantError(t, fmt.Sprintf("%q", c.names), err, append(c.words, root.Name(), "rename")...)
	}
	root := tree(t, "a.md", "Icon\r", ".b\x01")
	_, leftOut, err := Discover(root, DefaultSettings("x"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(leftOut); strings.ContainsAny(got, "\r\x01") || len(leftOut) != 2 {
		t.Errorf("left out %q", leftOut)
	}
}
