package pipeline

import (
	"fmt"
	"slices"
	"testing"
)

func TestLeftOutLines(t *testing.T) {
	var leftOut []LeftOut
	add := func(n int, path, reason string) {
		for i := range n {
			leftOut = append(leftOut, LeftOut{fmt.Sprintf(path, i), reason})
		}
	}
	add(120, "%d.png", leftKind+".png are not read")
	add(1, "%d.PNG", leftKind+".PNG are not read")
	add(3, "%d.docx", leftKind+".docx are not read")
	add(3, "%d.csv", leftKind+".csv are not read")
	add(1, "Makefile%d", leftBare+" (documents end in .md)")
	add(4, "old%d.md", leftIgnored)
	add(2, "link%d.md", leftSymlink)
	add(12, ".hidden%d", "hidden file")
	got := leftOutLines(leftOut)
	want := []string{
		"121 .png, 3 .csv, 3 .docx, 1 without extension: not read", "4 ignored by .larderignore",
		"link0.md: symbolic link", "link1.md: symbolic link",
	}
	for i := range maxShown {
		want = append(want, fmt.Sprintf(".hidden%d: hidden file", i))
	}
	want = append(want, "2 more: hidden file")
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for i := range 15 {
		add(1, "f%d", fmt.Sprintf("%s.e%02d are not read", leftKind, i))
	}
	if got, want := leftOutLines(leftOut)[0], "121 .png, 3 .csv, 3 .docx, 1 .e00, 1 .e01, 1 .e02, 1 .e03, 1 .e04, 1 .e05, 1 .e06, 9 of 9 other kinds: not read"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := leftOutLines(nil); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
