package policy

var identityKind = kind{
	name: KindIdentity,
	doc:  "made by the engine: the table is passed untouched",
}
