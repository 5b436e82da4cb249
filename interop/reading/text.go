package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode/utf32"

	"example.com/larder/pipeline"
)

// textEncodings are those that a language's texts were written in, by its code.
var textEncodings = map[string][]string{
	"ar": {"windows-1256", "iso-8859-6"},
	"bg": cyrillic, "ru": cyrillic, "uk": {"windows-1251", "koi8-u", "iso-8859-5"},
	"cs": {"windows-1250", "iso-8859-2"}, "hu": {"windows-1250", "iso-8859-2"}, "pl": {"windows-1250", "iso-8859-2"}, "ro": {"windows-1250", "iso-8859-2"},
	"de": western, "en": western, "es": western, "fr": western, "it": western, "pt": western, "sv": western,
	"el": {"windows-1253", "iso-8859-7"}, "he": {"windows-1255", "iso-8859-8-i"}, "tr": {"windows-1254"},
	"ja": {"shift_jis", "euc-jp"}, "ko": {"euc-kr"}, "th": {"windows-874"}, "zh": {"gb18030", "big5"}, "zh-Hant": {"big5", "gb18030"},
}

var (
	cyrillic = []string{"windows-1251", "koi8-r", "ibm866", "iso-8859-5", "x-mac-cyrillic"}
	western  = []string{"windows-1252", "iso-8859-1", "iso-8859-15", "macintosh"}
	wide     = []string{"utf-16le", "utf-16be", "utf-32le", "utf-32be"}
)

// textSizes are how many bytes of a text were written.
var textSizes = []int{50, 200, 1000, 5000}

// measureText writes texts in legacy encodings and in UTF-16 and UTF-32 without byte order mark, cut to some sizes, and
// counts how many larder reads right, how many it refuses, and how many it reads as another text. Arguments are
// folders of texts named by their language, such as fr.txt, and collections in BEIR's layout whose names end in it, such
// as xquad-ru.
func measureText(w io.Writer, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("name folders of texts, such as pipeline/testdata/encodings and ../shared/data/retrieval/xquad-*")
	}
	texts := map[string][]string{}
	for _, folder := range args {
		if err := readTexts(folder, texts); err != nil {
			return err
		}
	}
	var languages []string
	for language := range texts {
		if textEncodings[language] == nil {
			return fmt.Errorf("no encoding is known for texts in %q", language)
		}
		languages = append(languages, language)
	}
	slices.Sort(languages)
	fmt.Fprintf(w, "Texts by language, encoding and size in bytes: read right / refused / read wrong.\n\n%-8s %-15s", "language", "encoding")
	for _, size := range textSizes {
		fmt.Fprintf(w, " %13d", size)
	}
	fmt.Fprintln(w)
	total := make([][3]int, len(textSizes))
	for _, language := range languages {
		for _, name := range append(slices.Clone(textEncodings[language]), wide...) {
			fmt.Fprintf(w, "%-8s %-15s", language, name)
			for i, size := range textSizes {
				counts, err := countReadings(texts[language], name, size)
				if err != nil {
					return err
				}
				for k, n := range counts {
					total[i][k] += n
				}
				fmt.Fprintf(w, " %13s", fmt.Sprintf("%d/%d/%d", counts[0], counts[1], counts[2]))
			}
			fmt.Fprintln(w)
		}
	}
	for k, what := range []string{"right", "refused", "wrong"} {
		fmt.Fprintf(w, "%-24s", what+", of all")
		for i := range textSizes {
			n := total[i][0] + total[i][1] + total[i][2]
			fmt.Fprintf(w, " %11.2f %%", 100*float64(total[i][k])/float64(max(n, 1)))
		}
		fmt.Fprintln(w)
	}
	return nil
}

// readTexts adds a folder's texts by language.
func readTexts(folder string, texts map[string][]string) error {
	names, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return err
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		language := strings.TrimSuffix(filepath.Base(name), ".txt")
		// Each text gives several, by where it is begun.
		runes := []rune(string(data))
		for i := 0; i < len(runes)*3/4; i += max(len(runes)/20, 1) {
			texts[language] = append(texts[language], string(runes[i:]))
		}
	}
	if len(names) > 0 {
		return nil
	}
	f, err := os.Open(filepath.Join(folder, "corpus.jsonl"))
	if err != nil {
		return err
	}
	defer f.Close()
	base := filepath.Base(folder)
	language := base[strings.LastIndexByte(base, '-')+1:]
	var all []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var d struct{ Text string }
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		all = append(all, d.Text)
	}
	// Paragraphs are short: each begins a text that goes on with the ones after it.
	for i := 0; i < len(all); i += 4 {
		texts[language] = append(texts[language], strings.TrimPrefix(strings.Join(all[i:min(i+12, len(all))], "\n"), "\ufeff"))
	}
	return lines.Err()
}

// countReadings counts what becomes of texts: read right, refused, read wrong. Texts that have nothing but ASCII count
// for nothing.
func countReadings(texts []string, name string, size int) (counts [3]int, err error) {
	e, err := textEncoding(name)
	if err != nil {
		return counts, err
	}
	for _, text := range texts {
		written, kept := encodeStart(e, text, size)
		if written == nil {
			continue
		}
		want := pipeline.Parse(context.Background(), "a.txt", []byte(kept), pipeline.ParseOptions{})
		got := pipeline.Parse(context.Background(), "a.txt", written, pipeline.ParseOptions{})
		switch {
		case want.Verdict != pipeline.OK:
			return counts, fmt.Errorf("a text in UTF-8 is not read: %s", want.Reason)
		case got.Verdict != pipeline.OK:
			counts[1]++
		case got.Text == want.Text:
			counts[0]++
		default:
			counts[2]++
		}
	}
	return counts, nil
}

// encodeStart writes the beginning of a text in at most size bytes, without the characters that the encoding has not;
// it returns nil if the text is shorter than half the size, or if nothing but ASCII was written in an encoding that
// holds ASCII.
func encodeStart(e encoding.Encoding, text string, size int) (written []byte, kept string) {
	encoder := e.NewEncoder()
	var b strings.Builder
	foreign := false
	for _, r := range text {
		part, err := encoder.Bytes([]byte(string(r)))
		if err != nil {
			continue
		}
		if len(written)+len(part) > size {
			break
		}
		written = append(written, part...)
		b.WriteRune(r)
		foreign = foreign || r > 0x7f || len(part) > 1
	}
	if !foreign || len(written) < size/2 {
		return nil, ""
	}
	return written, b.String()
}

func textEncoding(name string) (encoding.Encoding, error) {
	switch name {
	case "iso-8859-1":
		return charmap.ISO8859_1, nil // not the WHATWG's, which is windows-1252
	case "utf-32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), nil
	case "utf-32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), nil
	}
	return htmlindex.Get(name)
}
