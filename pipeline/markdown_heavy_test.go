//go:build heavy

package pipeline

import "testing"

func TestWholeMarkdownMaterial(t *testing.T) { checkMarkdownMaterial(t, 1) }
