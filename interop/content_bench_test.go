//go:build heavy

package interop

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/larder/serve/tools"
)

// madeMarkdown writes 10,000 Markdown files in 100 folders, of English and Russian words, some 2,500 bytes each, and
// returns their folder.
func madeMarkdown(b *testing.B) string {
	b.Helper()
	words := strings.Fields("the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one you were all her she there would their we him been has when who will no more if out so up said what its about than into them can only other time new some could these two may first then do any like my now over such our man me even most made after also did many off before must well back through years where much your way down should because long each just state those people too mr how little good world make very year still see own work men day get here between both life being under three never know same last another while us might great go come since against right came take used himself few house use place during high without again home around small however found mrs part school thought went say general once upon и в не на я быть он с что а по это она этот к но они мы весь который из у свой вы за для от мочь так говорить о год если знать самый тот наш до другой если время")
	random := rand.New(rand.NewPCG(1, 2))
	dir := b.TempDir()
	for i := range 10_000 {
		folder := filepath.Join(dir, fmt.Sprintf("area-%02d", i%20), fmt.Sprintf("topic-%d", i%100/20))
		if i < 100 {
			if err := os.MkdirAll(folder, 0o777); err != nil {
				b.Fatal(err)
			}
		}
		var text strings.Builder
		fmt.Fprintf(&text, "# Note %d\n\n", i)
		for range 30 {
			for range 14 {
				text.WriteString(words[random.IntN(len(words))] + " ")
			}
			text.WriteString("\n")
		}
		if i%250 == 0 {
			text.WriteString("Here Machine Learning and Машинное Обучение meet.\n")
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("note-%d.md", i)), []byte(text.String()), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// BenchmarkContentSearch searches 10,000 files with kb_search_content and with grep -rn, by turns, and prints the ratio
// of the medians: below 1 it is faster than grep.
func BenchmarkContentSearch(b *testing.B) {
	dir := madeMarkdown(b)
	folder, err := tools.OpenFolder(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { folder.Close() })
	table := tools.FileTools(tools.Files{FS: folder, FullPath: folder.FullPath})
	tool := table[slices.IndexFunc(table, func(t tools.Tool) bool { return t.Name == "kb_search_content" })]
	for _, c := range []struct {
		name, query string
		fold        bool
	}{
		{"exact", "Machine Learning", false},
		{"folded", "machine learning", true},
		{"folded-russian", "машинное обучение", true},
	} {
		b.Run(c.name, func(b *testing.B) {
			arguments, _ := json.Marshal(map[string]any{"query": c.query, "case_sensitive": !c.fold})
			options := "-rn"
			if c.fold {
				options = "-rni"
			}
			var own, peer []time.Duration
			for b.Loop() {
				start := time.Now()
				answer, err := tool.Call(b.Context(), arguments)
				own = append(own, time.Since(start))
				if err != nil {
					b.Fatal(err)
				}
				grep := exec.Command("grep", options, "--include=*.md", "-e", c.query, dir)
				grep.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
				start = time.Now()
				lines, err := grep.Output()
				peer = append(peer, time.Since(start))
				if err != nil {
					b.Fatalf("grep: %v", err)
				}
				data, _ := json.Marshal(answer)
				var found struct {
					Files int `json:"files_found"`
				}
				if err := json.Unmarshal(data, &found); err != nil || found.Files != strings.Count(string(lines), "\n") || found.Files != 40 {
					b.Fatalf("found in %d files, grep %d lines, should be 40 (%v)", found.Files, strings.Count(string(lines), "\n"), err)
				}
			}
			slices.Sort(own)
			slices.Sort(peer)
			x, y := own[len(own)/2].Seconds()*1000, peer[len(peer)/2].Seconds()*1000
			b.ReportMetric(x, "own-ms")
			b.ReportMetric(y, "grep-ms")
			b.ReportMetric(x/y, "x-grep")
		})
	}
}
