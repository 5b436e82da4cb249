package pipeline

import (
	"strings"
	"testing"
	"unicode"
)

// cutSentences cuts text at all blanks and between all characters that end a sentence.
func cutSentences(text string) (sentences []string) {
	start := 0
	for i := range text {
		before := strings.TrimRightFunc(text[:i], unicode.IsSpace)
		if i == 0 || len(before) < start || strings.TrimLeftFunc(text[i:], unicode.IsSpace) != text[i:] {
			continue
		}
		if judgePlace(before, text[len(before):i], text[i:]) == sentenceEnd {
			sentences = append(sentences, text[start:len(before)])
			start = i
		}
	}
	return append(sentences, text[start:])
}

// TestSentences has texts in which | stands where a sentence ends and another begins.
func TestSentences(t *testing.T) {
	for _, text := range []string{
		// English
		"We refund it.| You return it!| Can you?| Yes… |No.",
		"Ask Mr. Brown or Dr. Smith.| Mrs. Jones, Prof. Lee and St. John are out.",
		"J. R. R. Tolkien wrote it.| So did C. S. Lewis.| George W. Bush did not.",
		"Use marks, e.g. Commas, i.e. Signs, cf. Smith et al. 2019, etc.| Then stop.",
		"See Fig. 3, No. 5, pp. 12 and Sec. 4 (p. 7).| See Eq. (3).| Is it?| No.| It is not.",
		"Pi is 3.14, the version v1.2.3, the file a.txt, the host www.example.com/a?b=C!d.| Then more.",
		"It costs $5.| The price fell by 3.5 %.| In 1999.| We left at 5 p.m. On Monday.",
		"The U.S. Army and the U.K. came.| I saw it.",
		"He said “stop.”| She did (at once.)| \"Why?\"| 'So.'| [Well.]| »Ja.«| End.",
		"“Stop!” he said.| “Is it?” she asked.| Yahoo! is a name.| What?!| Really?!?| Yes.",
		"Well... maybe.| Wait...| Now … and then.| So…| Next.",
		"Contents ........ 5 and Index ...... 12",
		"1. Install it.| 2 more.",
		"Jan. 5 and Dec. 24 are free, Jack vs. Jill too.| Maybe.",
		"Node.js and .NET are names.| C++.| Go.",
		"It is 5 mm.| It is 6 ft.| That is all.",
		// German
		"Am 3. Oktober, dem 19. Jahrhundert usw. ist frei, z. B. Montag, d. h. Dienstag, bzw. Mittwoch.| Dr. Müller kommt.",
		"Siehe Abb. 3, Nr. 5, S. 7 und Abs. 2.| „Ja.“| »Nein!«| Ende.",
		// Russian
		"Он жил в 1999 г.| Потом уехал в г. Москва, ул. Ленина, т. е. Далеко, и т. д.| Там, на стр. 5, рис. 3, тов. А. С. Пушкин и др.| Всё.",
		"«Где?»| «Там!» – сказал он.| Ему 5 тыс. руб.| Да.",
		// others
		"今日は晴れ。|明日も晴れ！|本当？|「はい。」|終わり",
		"他说：“你好。”|我说“去吗？”然后走了。|价格３．５元。|完",
		"هل تأتي؟| نعم۔| لا",
		"यह सच है।| वह गया॥| अंत",
		"မြန်မာ။|စာ",
		"ខ្មែរ។| ភាសា",
		"ภาษาไทย ไม่มี จุด",
		"Այո։| Ոչ",
	} {
		var want []string
		for _, s := range strings.Split(text, "|") {
			want = append(want, strings.TrimSpace(s))
		}
		got := cutSentences(strings.ReplaceAll(text, "|", ""))
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
		}
	}
}

func TestJudgePlace(t *testing.T) {
	for _, c := range []struct {
		before, gap, after string
		want               cutQuality
	}{
		{"we can", " ", "go", wordEnd},
		{"we can,", " ", "go", clauseEnd},
		{"we can", " ", "(go)", clauseEnd},
		{"we can", " ", "– go", clauseEnd},
		{"day |", " ", "price", clauseEnd},
		{"we", "", "-can", insideRun},
		{"1", "", ",5", insideRun},
		{"日本", "", "語", wordEnd},
		{"日本", "", "。", insideRun},
		{"「", "", "日", insideRun},
		{"日本、", "", "語", clauseEnd},
		{"日", "", "ー", insideRun},
		{"ไทย", " ", "ดี", clauseEnd},
		{"ไทย", " ", "good", wordEnd},
		{"مرحبا،", " ", "نعم", clauseEnd},
		{"an item", "\n", "and its second paragraph", sentenceEnd},
		{"Dr.", " ", "Smith", wordEnd},
		{"", "", "x", insideRun},
		{"x", "", "", insideRun},
		{"", "", "", insideRun},
		{".", " ", "\"", sentenceEnd},
		{strings.Repeat(")", 1000), " ", strings.Repeat("(", 1000), clauseEnd},
	} {
		if got := judgePlace(c.before, c.gap, c.after); got != c.want {
			t.Errorf("%.20q, %q, %.20q: %d, want %d", c.before, c.gap, c.after, got, c.want)
		}
	}
}
