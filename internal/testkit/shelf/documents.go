package shelf

import (
	"fmt"
	"strings"

	"example.com/larder/internal/testkit"
)

// Documents makes n documents of so many chunks each, by rule: always the same. Words are made of syllables and
// their frequencies fall as those of a language do; chunks have 10 to 90 words, a tenth of the documents Cyrillic
// letters. Metadata has every field, on some documents.
func Documents(n, chunks int) []Document {
	r := testkit.NewRandom(uint64(n)<<32 | uint64(chunks))
	types := []string{"", "faq", "lesson", "note", "reference"}
	topics := []string{"billing", "delivery", "returns", "stock"}
	documents := make([]Document, n)
	for i := range documents {
		d := &documents[i]
		d.Path = fmt.Sprintf("folder-%02d/document-%05d.md", i*50/n, i)
		d.Title = strings.Join([]string{word(r), word(r)}, " ")
		d.ContentType = types[r.N(len(types))]
		if r.N(3) > 0 {
			d.Date = fmt.Sprintf("2026-%02d-%02d", 1+r.N(12), 1+r.N(28))
		}
		if r.N(2) > 0 {
			d.UnitID = fmt.Sprintf("unit-%d", r.N(5))
		}
		for _, t := range topics {
			if r.N(3) == 0 {
				d.Topics = append(d.Topics, t)
			}
		}
		write := word
		if i%10 == 9 {
			write = cyrillic
		}
		for range chunks {
			d.Chunks = append(d.Chunks, sentence(r, 10+r.N(81), write))
		}
	}
	return documents
}

// Questions makes n questions of 1 to 12 words, of the words that [Documents] uses, by rule.
func Questions(n int) []string {
	r := testkit.NewRandom(uint64(n))
	questions := make([]string, n)
	for i := range questions {
		write := word
		if i%10 == 9 {
			write = cyrillic
		}
		questions[i] = sentence(r, 1+r.N(12), write)
	}
	return questions
}

func sentence(r *testkit.Random, words int, word func(*testkit.Random) string) string {
	list := make([]string, words)
	for i := range list {
		list[i] = word(r)
	}
	return strings.Join(list, " ") + "."
}

// word returns one of 4,096 words; limits that are drawn themselves make those of low rank frequent.
func word(r *testkit.Random) string { return spell(r, "bdfgklmnprstvzhj", "aeiou") }

func cyrillic(r *testkit.Random) string {
	return spell(r, "бвгдзклмнпрстфхц", "аеиоу")
}

func spell(r *testkit.Random, consonants, vowels string) string {
	c, v := []rune(consonants), []rune(vowels)
	rank := r.N(1 + r.N(1+r.N(1+r.N(4096))))
	var b strings.Builder
	for n := rank; ; n /= len(c) * len(v) {
		b.WriteRune(c[n%len(c)])
		b.WriteRune(v[n/len(c)%len(v)])
		if n < len(c)*len(v) {
			break
		}
	}
	if rank%7 == 0 {
		fmt.Fprintf(&b, "-%d", rank) // a code
	}
	return b.String()
}
