// Nothing imports this module: xorm requires it for tests of its own. It stands here
// in the place of one that is not on every proxy.
module gitee.com/travelliu/dm

go 1.26.0
