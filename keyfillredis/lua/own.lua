-- Finds the lowest series of the owner.
return told('ok', lowest(is_mine))
