//go:build heavy

package pipeline

import "testing"

func TestWholeMarkdownMaterial(t *testing.T) { checkMarkdownMaterial(t, 1) }

func TestLargeHostileDialects(t *testing.T) { checkHostileDialects(t, 1<<20) }
