package house

import (
	"os/exec"
	"strings"
	"testing"
)

// TestTools runs the linters that go.mod names over the whole module. Each prints what it finds and nothing else.
func TestTools(t *testing.T) {
	for _, test := range []struct {
		name      string
		arguments []string
		cure      string
	}{
		{"vet", []string{"vet", "./..."}, ""},
		{"gofumpt", []string{"tool", "gofumpt", "-l", "."}, "run: go tool gofumpt -w ."},
		{"staticcheck", []string{"tool", "staticcheck", "./..."}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			command := exec.Command("go", test.arguments...)
			command.Dir = root
			out, err := command.CombinedOutput()
			if found := strings.TrimSpace(string(out)); err != nil || found != "" {
				t.Errorf("go %s: %v\n%s\n%s", strings.Join(test.arguments, " "), err, found, test.cure)
			}
		})
	}
}
