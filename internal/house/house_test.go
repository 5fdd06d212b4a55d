package house

import (
	"strings"
	"sync"
	"testing"
)

// root is this module's folder, seen from here.
const root = "../.."

// moduleTree is the tree of this module, read once.
var moduleTree = sync.OnceValues(func() (*Tree, error) { return Load(root) })

// TestTree applies every rule to the whole module and prints all findings in one list.
func TestTree(t *testing.T) {
	tree, err := moduleTree()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sim", "impl/redislock", "internal/house"} {
		if !hasPackage(tree, want) {
			t.Fatalf("the package %s is not in the tree: the rules would look at nothing", want)
		}
	}
	findings := Check(tree, Rules())
	if len(findings) == 0 {
		return
	}
	var list strings.Builder
	for _, finding := range findings {
		list.WriteString(finding.String() + "\n")
	}
	t.Errorf("%d findings:\n%s", len(findings), list.String())
}

func hasPackage(tree *Tree, path string) bool {
	for _, p := range tree.Packages {
		if p.Path == path && len(p.Files) > 0 {
			return true
		}
	}
	return false
}
