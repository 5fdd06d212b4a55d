// Command lockstep tests distributed locks in simulated worlds.
//
//	lockstep list                                    what there is to run
//	lockstep run                                     everything, against what is expected of it
//	lockstep hunt dead-record --impl redis/getset    the first seed that breaks a lock
//	lockstep replay lockstep-out/...                 the same run once more, told step by step
//	lockstep shrink lockstep-out/...                 what is left when all that it does not need is gone
//	lockstep envelope envelope-clock ...             the size of a fault at which a lock breaks
//	lockstep diff A B                                where two runs part
//
// It is thin: package scenarios runs and judges, package reports tells and draws. What is here reads the command line
// and prints.
package main
