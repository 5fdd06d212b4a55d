package checker

import "slices"

// Property names one question that is put to a history.
type Property string

// The properties, in the order in which Check judges them. All but the last three are promises; those are costs, which
// are violated only where Options state a bound.
const (
	// MutualExclusion: no two processes believed at one instant of true time that they held the same lock.
	MutualExclusion Property = "mutual-exclusion"
	// GrantExclusivity: the server never had two grants of a lock at once, and nobody was let in without one. Where
	// mutual exclusion is broken and this is not, the lease is to blame and not the lock.
	GrantExclusivity Property = "grant-exclusivity"
	// Linearizability: the answers of the lock are those of one lock object that handled the calls one at a time.
	Linearizability Property = "linearizability"
	// ReleaseByOwner: nobody frees what another holds, and everybody is told the truth about releases.
	ReleaseByOwner Property = "release"
	// Reentrancy: record and client count the same levels, and a hold is freed with its last level.
	Reentrancy Property = "reentrancy"
	// TokenOrder: fencing tokens rise from one hold to the next and stay equal inside one hold.
	TokenOrder Property = "token-order"
	// NotEarly: no hold passes to another before its lease is over, unless it was released.
	NotEarly Property = "not-early"
	// UseInLease: every write is sent before the lease of its hold is over.
	UseInLease Property = "use-after-lease"
	// Resource: every write reached the protected resource while its writer was the latest holder.
	Resource Property = "resource"
	// ResourceFenced: no write was accepted after one with a higher token.
	ResourceFenced Property = "resource-fenced"
	// TruthfulRefusal: whoever was refused was refused because another had the lock.
	TruthfulRefusal Property = "truthful-refusal"
	// PhantomEffect: what was answered with a refusal changed nothing.
	PhantomEffect Property = "phantom-effect"
	// Clobber: whoever is not let in leaves the record of who is as it was.
	Clobber Property = "clobber"
	// Orphan: no record names somebody for long who has no use for it any more.
	Orphan Property = "orphan"
	// LostWakeUp: a lock that nobody has does not stay without a holder while somebody waits for it.
	LostWakeUp Property = "lost-wakeup"
	// Deadlock: no clients wait for each other's locks.
	Deadlock Property = "deadlock"
	// Starvation: nobody waits while others enter again and again.
	Starvation Property = "starvation"
	// Order: a fair lock lets its clients in in the order in which they asked.
	Order Property = "order"
	// Recovery: what was under way when the faults stopped comes to its end, and clients are served again.
	Recovery Property = "recovery"
	// SessionExpiry: what belonged to a session is gone soon after its end.
	SessionExpiry Property = "session-expiry"
	// Herd: how many requests a hand-over costs the server.
	Herd Property = "herd"
	// HandOver: how long a lock that is waited for takes from one holder to the next.
	HandOver Property = "hand-over"
	// Fairness: how evenly the lock is shared among those who ask for it, by Jain's index.
	Fairness Property = "fairness"
)

// Liveness names the group of the properties that are judged after the faults have stopped, but for Order, which a
// lock may not promise.
const Liveness Property = "liveness"

// propertyJudge is how one property is judged.
type propertyJudge struct {
	property Property
	about    string
	judge    func(*analysis, *Header, Options) Verdict
}

// judges are all properties in the order of Properties.
var judges = []propertyJudge{
	{MutualExclusion, "no two clients believe at one time that they hold the lock", plain((*analysis).judgeExclusion)},
	{GrantExclusivity, "the server never has two grants at once", plain((*analysis).judgeGrants)},
	{Linearizability, "the answers are those of one lock object", (*analysis).judgeLinearizability},
	{ReleaseByOwner, "nobody frees what another holds", (*analysis).judgeRelease},
	{Reentrancy, "levels are counted right, and the last one frees", plain((*analysis).judgeReentrancy)},
	{TokenOrder, "fencing tokens rise from hold to hold", (*analysis).judgeTokens},
	{NotEarly, "no hold passes on before its lease is over", (*analysis).judgeEarly},
	{UseInLease, "no write is sent after the lease is over", (*analysis).judgeUse},
	{Resource, "each write arrives while its writer is the latest holder", (*analysis).judgeResource},
	{ResourceFenced, "the check on tokens lets no old write pass", plain((*analysis).judgeFencing)},
	{TruthfulRefusal, "a try is refused only while another has the lock", plain((*analysis).judgeRefusals)},
	{PhantomEffect, "what is answered with a refusal changes nothing", plain((*analysis).judgePhantoms)},
	{Clobber, "who is not let in does not overwrite the record", plain((*analysis).judgeClobber)},
	{Orphan, "no record names somebody for long who has no use for it", plain((*analysis).judgeOrphans)},
	{LostWakeUp, "a free lock that is waited for is soon held", plain((*analysis).judgeWakeUps)},
	{Deadlock, "no clients wait for each other's locks", plain((*analysis).judgeDeadlock)},
	{Starvation, "nobody waits while others enter again and again", plain((*analysis).judgeStarvation)},
	{Order, "who asks first gets in first", plain((*analysis).judgeOrder)},
	{Recovery, "calls end and clients are served once the faults are over", plain((*analysis).judgeRecovery)},
	{SessionExpiry, "what belonged to a session goes with it", plain((*analysis).judgeSessions)},
	{Herd, "requests that a hand-over costs", plain((*analysis).judgeHerd)},
	{HandOver, "time that a hand-over takes", plain((*analysis).judgeHandOvers)},
	{Fairness, "how evenly the lock is shared (Jain's index)", plain((*analysis).judgeFairness)},
}

// plain makes a judge of one that needs no header.
func plain(j func(*analysis, Options) Verdict) func(*analysis, *Header, Options) Verdict {
	return func(a *analysis, _ *Header, options Options) Verdict { return j(a, options) }
}

// Properties lists all properties in the order in which Check judges them.
func Properties() []Property {
	properties := make([]Property, len(judges))
	for i := range judges {
		properties[i] = judges[i].property
	}
	return properties
}

// Groups lists the names that stand for several properties.
func Groups() []Property { return []Property{Liveness} }

// Members lists the properties that a name stands for: those of a group, or the one property itself. A name that means
// nothing has none.
func (p Property) Members() []Property {
	if p == Liveness {
		return []Property{Orphan, LostWakeUp, Deadlock, Starvation, Recovery, SessionExpiry}
	}
	if slices.Contains(Properties(), p) {
		return []Property{p}
	}
	return nil
}

// Covers tells whether p is q, or a group of which q is a member.
func (p Property) Covers(q Property) bool { return p == q || slices.Contains(p.Members(), q) }

// About says in a few words what a property asks for; it is empty for a name that is none.
func (p Property) About() string {
	if p == Liveness {
		return "the six properties from orphan to session-expiry, without order"
	}
	for i := range judges {
		if judges[i].property == p {
			return judges[i].about
		}
	}
	return ""
}
