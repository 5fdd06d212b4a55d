// Package index lists the runs of a folder on one page, coloured by verdict: which scenario, which implementation,
// which seed, what was violated and by which mechanism, with links to everything in the folder of the run. Above them
// stand the campaigns of the folder, finished or under way.
//
// The page is one file without remote assets. It can be filtered and sorted, works from the disk, and keeps itself up
// to date where it is served. [Scan] reads a folder, [Index.WriteHTML] writes the page, [Write] puts it into the
// folder.
//
// A folder of runs is laid out as
//
//	SCENARIO/IMPLEMENTATION/seed-N/   a run, see package reports
//	campaign/NAME/                    what a campaign has run, and result.json, see package ci
//	latest                            a link to the run that was written last
//	index.html                        this page
package index
