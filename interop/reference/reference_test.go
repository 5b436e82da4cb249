package main

import "testing"

// The words of all questions are there, and no others.
func TestQuestions(t *testing.T) {
	questions, err := readQuestions("../../evals")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for base, list := range questions {
		if len(list) < 20 {
			t.Errorf("%s: %d questions", base, len(list))
		}
		n += len(list)
	}
	if len(questions) < 3 || n < 60 {
		t.Errorf("%d questions to %d bases", n, len(questions))
	}
}
