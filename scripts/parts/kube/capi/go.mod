// Pins all modules of the programs that capi.ts builds. To move to another version, change the three direct ones,
// then run `go list -mod=mod -deps` with the packages that capi.ts names.
module capi

go 1.26.0

require (
	sigs.k8s.io/cluster-api v1.14.2
	sigs.k8s.io/cluster-api/api v1.14.2
	sigs.k8s.io/cluster-api/test v1.14.2
)
