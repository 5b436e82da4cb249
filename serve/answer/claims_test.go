package answer

import "testing"

func TestUnsupported(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
		{"", 0},
		{refusal, 0},
		{"\"" + refusal + "\"\n", 0},
		{"**" + refusal + "**", 0},
		{refusal + " But cats are grey.", 1},
		{"Refunds take ten days.", 1},
		{"Refunds take ten days [1:3].", 0},
		{"Refunds take ten days. [1:3]", 0},
		{"Refunds take ten days.[1:3]", 0},
		{"Refunds take ten days [1:3]. Fees are kept.", 1},
		{"Refunds take ten days. [1:3] Fees are kept. [2:4]", 0},
		{"Refunds take ten days. Fees are kept [2:4].", 1},
		{"Refunds take ten days [9:3].", 1},
		{"Refunds take ten days [1:9].", 1},
		{"Refunds take ten days [9:3] [1:3].", 0},
		{"Refunds take ten days `[1:3]`.", 1},
		{"Refunds take ten days [1:3](u).", 1},
		{"According to [1:3], it takes days.", 0},
		{"# Refunds\n\n## How long\n\nTen days [1:3].", 0},
		{"**Refunds**\n\nTen days [1:3].", 0},
		{"**Refunds:** ten days [1:3].", 0},
		{"It covers:\n- returns [1:3]\n- fees [2:4]\n", 0},
		{"It covers:\n- returns [1:3]\n- fees\n1. taxes\n2) more\n", 3},
		{"It covers [1:3]:\n\n* returns\n", 1},
		{"> Ten days. [1:3]\n> Always.\n", 1},
		{"It takes ten\ndays [1:3].\n", 0},
		{"What else do you want to know?", 0},
		{"See p. 3 of the policy, e.g. The Fees, by Dr. Smith and J. Doe [1:3].", 0},
		{"It costs 3.50 euros in v1.2.3 of shop.example.com [1:3].", 0},
		{"Well... it depends [1:3].", 0},
		{"Срок — 10 дней, т.е. Две недели нет [1:3]. Комиссия не возвращается.", 1},
		{"退款需要十天。[1:3]手续费不退。", 1},
		{"```\nIt is code. And more.\n```\nTen days [1:3].", 0},
		{"| Fee | Days |\n|---|---|\n| small | ten [1:3] |\n| large | two |\n", 1},
		{"---\n\n***\n\n1.\n\n- \n", 0},
		{"Yes.", 1},
		{"\"Ten days.\" [1:3] He said \"Never!\" Then he left.", 2},
	} {
		_, m := mark1(c.text)
		if got := unsupported(m.plain.String()); got != c.want {
			t.Errorf("%q: %d claims without a citation, not %d: %q", c.text, got, c.want, m.plain.String())
		}
	}
}
