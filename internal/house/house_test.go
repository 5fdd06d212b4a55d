package house

import (
	"strings"
	"sync"
	"testing"
)

// root is this module's folder, seen from here.
const root = "../.."

// exported is what the compiler knows of the packages of this module and all that they import, asked once.
var exported = sync.OnceValues(func() (exports, error) { return listExports(root) })

// TestTree applies every rule to the whole module and prints all findings in one list.
func TestTree(t *testing.T) {
	exports, err := exported()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := load(root, exports)
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
