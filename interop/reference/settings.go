package main

// triedSettings are arguments of a base: on the limits, beyond them, and such as don't fit each other.
var triedSettings = []settings{
	{Mode: "keyword"},
	{Embed: true},
	{Mode: "keyword", ChunkSize: ref(1), ChunkOverlap: ref(1)},
	{Mode: "keyword", ChunkSize: ref(2048), ChunkOverlap: ref(2048), TopK: ref(20)},
	{Mode: "meaning", TopK: ref(1), MinScore: ref(1.0), Embed: true},
	{Mode: "hybrid", ChunkOverlap: ref(0), MinScore: ref(0.0), Embed: true},
	{},
	{Mode: "meaning"},
	{Mode: "keyword", Embed: true},
	{Mode: "semantic", Embed: true},
	{Mode: "keyword", ChunkSize: ref(0)},
	{Mode: "keyword", ChunkSize: ref(2049)},
	{Mode: "keyword", ChunkOverlap: ref(-1)},
	{Mode: "keyword", ChunkOverlap: ref(91)},
	{Mode: "keyword", ChunkSize: ref(10)},
	{Mode: "keyword", TopK: ref(0)},
	{Mode: "keyword", TopK: ref(21)},
	{Mode: "keyword", MinScore: ref(0.5)},
	{MinScore: ref(-0.1), Embed: true},
	{MinScore: ref(1.1), Embed: true},
}

func ref[T any](v T) *T { return &v }
